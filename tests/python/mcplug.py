"""libmcplug for the tests in Python, by ctypes.

Structs and functions are read from the public headers, so that they cannot differ from
them: M.struct("mcplug_options") is a ctypes.Structure, M.mcplug_new a function whose
arguments and result have their types. Texts are bytes; pointers are numbers, or what
ctypes makes of byref().
"""
import ctypes
import os
import re

SCALARS = {
    "int": ctypes.c_int, "unsigned": ctypes.c_uint, "char": ctypes.c_char,
    "double": ctypes.c_double, "size_t": ctypes.c_size_t, "ptrdiff_t": ctypes.c_ssize_t,
    "uint32_t": ctypes.c_uint32, "int32_t": ctypes.c_int32,
    "uint64_t": ctypes.c_uint64, "int64_t": ctypes.c_int64,
}


def read_headers():
    text = ""
    for name in ("types.h", "mcplug.h", "content.h", "toolbox.h", "admin.h"):
        path = os.path.join(os.environ["MCPLUG_SRC"], "include", "mcplug", name)
        with open(path, encoding="utf-8") as file:
            text += file.read()
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    text = re.sub(r"\\\n", " ", text)
    return text


def type_of(words, is_argument):
    if "*" in words or "_fn" in words:
        return ctypes.c_char_p if re.search(r"\bchar\s*\*\s*$", words) and \
            words.count("*") == 1 and is_argument else ctypes.c_void_p
    words = re.sub(r"\b(const|struct)\b", "", words).strip()
    return ctypes.c_int if words.startswith("enum ") else SCALARS[words]


class Library:
    def __init__(self):
        self.text = read_headers()
        self.constants = {}
        for body in re.findall(r"enum\s*\w*\s*\{(.*?)\}", self.text, re.S):
            self._enumerate(body)
        for name, value in re.findall(r"#define (MCPLUG_\w+) \(?(-?\w+)\)?\s*$",
                                      self.text, re.M):
            try:
                self.constants[name] = int(value, 0)
            except ValueError:
                pass
        path = os.path.join(os.environ["MCPLUG_BUILD"], ".libs", "libmcplug.so")
        self.so = ctypes.CDLL(path)
        self.structs = {}

    def _enumerate(self, body):
        value = -1
        for item in filter(None, map(str.strip, body.split(","))):
            name, _, given = map(str.strip, item.partition("="))
            value = int(eval(given)) if given else value + 1
            self.constants[name] = value

    def struct(self, name):
        """The type of that struct; struct_size is set in new ones."""
        if name in self.structs:
            return self.structs[name]
        body = re.search(r"struct " + name + r"\s*\{(.*?)\n\};", self.text, re.S).group(1)
        fields = []
        for item in filter(None, map(str.strip, body.split(";"))):
            pointer = re.search(r"\(\*(\w+)\)\s*\(", item)
            if pointer:
                fields.append((pointer.group(1), ctypes.c_void_p))
                continue
            words, names = re.match(r"(.*?[\s*])(\w+(?:\[\w+\])?(?:,.*)?)$", item,
                                    re.S).groups()
            base = words.replace("*", "")
            for one in names.split(","):
                stars = "*" * (one.count("*") if "*" in one else words.count("*"))
                one = one.replace("*", "").strip()
                size = re.search(r"\[(\w+)\]", one)
                kind = type_of(base + stars, False)
                count = self.constants.get(size.group(1)) or int(size.group(1)) \
                    if size else 0
                fields.append((re.sub(r"\[.*", "", one), kind * count if size else kind))

        def init(this, **members):
            ctypes.Structure.__init__(this)
            this.struct_size = ctypes.sizeof(this)
            this.kept = []  # texts, which a struct only points to
            for key, value in members.items():
                if isinstance(value, bytes):
                    value = ctypes.create_string_buffer(value)
                    this.kept.append(value)
                    value = ctypes.cast(value, ctypes.c_void_p)
                elif hasattr(value, "argtypes") or not isinstance(value, (int, type(None))):
                    this.kept.append(value)
                    value = ctypes.cast(value, ctypes.c_void_p)
                setattr(this, key, value)

        self.structs[name] = type(name, (ctypes.Structure,),
                                  {"_fields_": fields, "__init__": init})
        return self.structs[name]

    def __getattr__(self, name):
        if name in self.constants:
            return self.constants[name]
        found = re.search(r"MCPLUG_API\s+([^;()]*?)\b" + name + r"\s*\((.*?)\);", self.text,
                          re.S)
        if not found:
            raise AttributeError(name)
        result, arguments = found.groups()
        # a callback among the arguments counts as one
        arguments = re.sub(r"\w+\s*\(\*\w+\)\s*\([^()]*\)", "void *fn", arguments)
        arguments = re.sub(r"(\w+)\[\w+\]", r"*\1", arguments)
        function = getattr(self.so, name)
        result = result.strip()
        function.restype = None if result == "void" else type_of(result, True)
        function.argtypes = [type_of(re.sub(r"\w+$", "", one.strip()), True)
                             for one in arguments.split(",") if one.strip() != "void"]
        setattr(self, name, function)
        return function


M = Library()


class Error(Exception):
    def __init__(self, error):
        super().__init__(error.text.decode())
        self.code = error.code


def check(call, *args):
    """Calls what ends with `err`; raises its error. Returns the result."""
    err = M.struct("mcplug_error")()
    result = call(*args, ctypes.byref(err))
    failed = result != 0 if call.restype is ctypes.c_int else not result
    if failed:
        raise Error(err)
    return result


def function(result, *arguments):
    """A decorator: makes a callback of a function."""
    return ctypes.CFUNCTYPE(result, *arguments)


def example_server():
    path = os.path.join(os.environ["MCPLUG_BUILD"], "examples", "mcplug-example-server")
    return path.encode()


def run(tests):
    """Runs functions that are named after what they show."""
    failed = 0
    for test in tests:
        try:
            test()
            print("ok", test.__name__)
        except Exception as why:  # pylint: disable=broad-except
            import traceback
            traceback.print_exc()
            print("failed", test.__name__, repr(why))
            failed += 1
    return 1 if failed else 0

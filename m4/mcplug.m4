# mcplug.m4 - configure macros of mcplug.

# MCPLUG_MODULE(NAME, WHAT, [REQUIREMENTS])
#
# Gives --enable-NAME=yes|no|auto|builtin for the module in plugins/NAME:
#   yes      a shared object; an error when a requirement is missing
#   auto     the same when its requirements are there, else left out (the default)
#   builtin  compiled into the core
#   no       left out
# REQUIREMENTS is shell code that sets `mcplug_lacks` to what is missing.
# For Makefile.am: conditionals MODULE_NAME and BUILTIN_NAME (upper case).
AC_DEFUN([MCPLUG_MODULE], [
  AC_REQUIRE([LT_INIT])dnl
  AC_ARG_ENABLE([$1],
    [AS_HELP_STRING([--enable-$1=yes|no|auto|builtin], [$2 @<:@auto@:>@])],
    [], [enable_$1=auto])
  mcplug_lacks=
  mcplug_form=no
  AS_CASE([$enable_$1],
    [no], [mcplug_why="disabled"],
    [yes|auto|builtin], [
      $3
      mcplug_why=$mcplug_lacks
      AS_IF([test -n "$mcplug_lacks"],
          [AS_IF([test "$enable_$1" != auto],
             [AC_MSG_ERROR([--enable-$1=$enable_$1, but $mcplug_lacks])])],
        [test "$enable_$1" = builtin], [mcplug_form=builtin],
        [test "$enable_shared" != no], [mcplug_form=module],
        [test "$enable_$1" = auto], [mcplug_form=builtin
           mcplug_why="no shared libraries"],
        [AC_MSG_ERROR([--enable-$1=yes needs shared libraries; try --enable-$1=builtin])])],
    [AC_MSG_ERROR([--enable-$1=$enable_$1: expected yes, no, auto or builtin])])

  AM_CONDITIONAL(m4_toupper([MODULE_$1]), [test $mcplug_form = module])
  AM_CONDITIONAL(m4_toupper([BUILTIN_$1]), [test $mcplug_form = builtin])
  AS_IF([test $mcplug_form = builtin], [
    mcplug_builtin_declare="$mcplug_builtin_declare extern const struct mcplug_plugin mcplug_builtin_$1;"
    mcplug_builtin_list="$mcplug_builtin_list &mcplug_builtin_$1,"])
  AS_VAR_APPEND([mcplug_summary], ["
    $1: $mcplug_form${mcplug_why:+ ($mcplug_why)}"])
])

# MCPLUG_CONVERTER(NAME, WHAT, REQUIREMENTS): the same for a module of converters. These are
# never compiled in, for they run in a process of their own.
AC_DEFUN([MCPLUG_CONVERTER], [
  AC_REQUIRE([LT_INIT])dnl
  AC_ARG_ENABLE([$1], [AS_HELP_STRING([--enable-$1=yes|no|auto], [$2 @<:@auto@:>@])],
    [], [enable_$1=auto])
  mcplug_lacks=
  mcplug_form=no
  AS_CASE([$enable_$1],
    [no], [mcplug_why="disabled"],
    [yes|auto], [
      AS_IF([test "$enable_shared" = no], [mcplug_lacks="there are no shared libraries"],
        [$3])
      mcplug_why=$mcplug_lacks
      AS_IF([test -z "$mcplug_lacks"], [mcplug_form=module],
        [test "$enable_$1" = yes], [AC_MSG_ERROR([--enable-$1=yes, but $mcplug_lacks])])],
    [AC_MSG_ERROR([--enable-$1=$enable_$1: expected yes, no or auto])])
  AM_CONDITIONAL(m4_toupper([MODULE_$1]), [test $mcplug_form = module])
  AS_VAR_APPEND([mcplug_summary], ["
    $1: $mcplug_form${mcplug_why:+ ($mcplug_why)}"])
])

# MCPLUG_MODULES_DONE: after the last MCPLUG_MODULE; tells config.h what is built in.
AC_DEFUN([MCPLUG_MODULES_DONE], [
  AC_DEFINE_UNQUOTED([MP_BUILTIN_DECLARE], [$mcplug_builtin_declare],
    [Declarations of the modules that are compiled in])
  AC_DEFINE_UNQUOTED([MP_BUILTIN_LIST], [$mcplug_builtin_list],
    [Their addresses, each with a comma behind it])
  AM_CONDITIONAL([ANY_BUILTIN], [test -n "$mcplug_builtin_list"])
])

# MCPLUG_C_FLAGS(VARIABLE, FLAGS): adds those FLAGS that the compiler takes.
AC_DEFUN([MCPLUG_C_FLAGS], [
  for mcplug_flag in m4_normalize([$2]); do
    AC_MSG_CHECKING([whether $CC takes $mcplug_flag])
    mcplug_saved=$CFLAGS
    CFLAGS="$CFLAGS -Werror $mcplug_flag"
    AC_COMPILE_IFELSE([AC_LANG_PROGRAM()],
      [AC_MSG_RESULT([yes])
       AS_VAR_APPEND([$1], [" $mcplug_flag"])],
      [AC_MSG_RESULT([no])])
    CFLAGS=$mcplug_saved
  done
  AC_SUBST([$1])
])

# MCPLUG_LINKS(WHAT, FLAGS, IF-YES, IF-NO): does a program link with these FLAGS?
AC_DEFUN([MCPLUG_LINKS], [
  AC_MSG_CHECKING([$1])
  mcplug_saved=$LDFLAGS
  LDFLAGS="$LDFLAGS $2"
  AC_LINK_IFELSE([AC_LANG_PROGRAM([#include <stdio.h>], [puts("");])],
    [LDFLAGS=$mcplug_saved
     AC_MSG_RESULT([yes])
     $3],
    [LDFLAGS=$mcplug_saved
     AC_MSG_RESULT([no])
     $4])
])

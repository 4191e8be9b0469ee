# Everything that checks. Part of Makefile.am.

# ---- unit suites: one program per file tests/unit/FOLDER_FILE.c --------------

unit_tests = \
	tests/unit/api_admin \
	tests/unit/api_admin_known \
	tests/unit/api_admin_modules \
	tests/unit/api_admin_names \
	tests/unit/api_calls \
	tests/unit/api_config \
	tests/unit/api_edges \
	tests/unit/api_events \
	tests/unit/api_fd \
	tests/unit/api_free_arg \
	tests/unit/api_host \
	tests/unit/api_options \
	tests/unit/api_process \
	tests/unit/api_pull \
	tests/unit/api_server \
	tests/unit/api_server_edges \
	tests/unit/api_server_lists \
	tests/unit/api_server_once \
	tests/unit/api_server_own \
	tests/unit/api_server_rules \
	tests/unit/api_stress \
	tests/unit/api_threads \
	tests/unit/api_two_hosts \
	tests/unit/base_batch \
	tests/unit/base_error \
	tests/unit/base_event \
	tests/unit/base_nearest \
	tests/unit/base_sha256 \
	tests/unit/base_stderr_hint \
	tests/unit/base_tally \
	tests/unit/base_text \
	tests/unit/check_contract \
	tests/unit/cli_args \
	tests/unit/cli_drawing \
	tests/unit/cli_failure \
	tests/unit/cli_import \
	tests/unit/cli_import_entry \
	tests/unit/cli_import_relax \
	tests/unit/cli_journal \
	tests/unit/cli_journal_refused \
	tests/unit/cli_history \
	tests/unit/cli_key_value \
	tests/unit/cli_line_edit \
	tests/unit/cli_loop \
	tests/unit/cli_out \
	tests/unit/cli_screen \
	tests/unit/cli_skill \
	tests/unit/cli_toml \
	tests/unit/cli_tree \
	tests/unit/cli_reason \
	tests/unit/cli_typed_args \
	tests/unit/cli_yaml \
	tests/unit/common_cgroup \
	tests/unit/common_header \
	tests/unit/common_ide \
	tests/unit/common_ide_file \
	tests/unit/common_ip \
	tests/unit/common_mark \
	tests/unit/common_ports \
	tests/unit/common_sse \
	tests/unit/common_url \
	tests/unit/config_approval \
	tests/unit/config_change \
	tests/unit/config_converters \
	tests/unit/config_models \
	tests/unit/config_config \
	tests/unit/config_edit \
	tests/unit/config_expand \
	tests/unit/config_file \
	tests/unit/config_file_lock \
	tests/unit/config_jsontext \
	tests/unit/config_judge \
	tests/unit/config_keys \
	tests/unit/config_limits \
	tests/unit/config_mask \
	tests/unit/config_nomem \
	tests/unit/config_nomem_write \
	tests/unit/config_paths \
	tests/unit/config_policy \
	tests/unit/config_policy_file \
	tests/unit/config_policy_hosts \
	tests/unit/config_resolve \
	tests/unit/config_schema \
	tests/unit/config_secret \
	tests/unit/config_supervision \
	tests/unit/config_vaults \
	tests/unit/content_block \
	tests/unit/content_filename \
	tests/unit/content_fit \
	tests/unit/content_nomem \
	tests/unit/content_path \
	tests/unit/content_render \
	tests/unit/content_render_nomem \
	tests/unit/content_results \
	tests/unit/content_search \
	tests/unit/content_store \
	tests/unit/content_store_nomem \
	tests/unit/content_summary \
	tests/unit/content_tokens \
	tests/unit/content_write \
	tests/unit/convert_convert \
	tests/unit/convert_hostile \
	tests/unit/convert_nomem \
	tests/unit/fetch_cookies \
	tests/unit/fetch_request \
	tests/unit/json_conform \
	tests/unit/json_envelope \
	tests/unit/json_scan \
	tests/unit/json_stream \
	tests/unit/json_walk \
	tests/unit/loop_guard \
	tests/unit/loop_loop \
	tests/unit/plugin_abi \
	tests/unit/plugin_catalogue \
	tests/unit/plugin_frozen \
	tests/unit/plugin_handshake \
	tests/unit/plugin_lines \
	tests/unit/plugin_pins \
	tests/unit/plugin_props \
	tests/unit/plugin_services \
	tests/unit/connect_locate \
	tests/unit/connect_locate_nomem \
	tests/unit/connect_policy \
	tests/unit/plugin_use \
	tests/unit/plugin_vault \
	tests/unit/registry_filter \
	tests/unit/registry_health \
	tests/unit/registry_health_any \
	tests/unit/registry_keeper \
	tests/unit/registry_lives \
	tests/unit/registry_names \
	tests/unit/registry_probe \
	tests/unit/registry_probe_http \
	tests/unit/registry_probe_nomem \
	tests/unit/registry_queue \
	tests/unit/registry_tool_cache \
	tests/unit/rpc_assembler \
	tests/unit/rpc_exchange \
	tests/unit/rpc_ids \
	tests/unit/rpc_ledger \
	tests/unit/rpc_link \
	tests/unit/rpc_settled \
	tests/unit/rpc_spill \
	tests/unit/run_count \
	tests/unit/run_find \
	tests/unit/run_model \
	tests/unit/run_nomem \
	tests/unit/run_offer \
	tests/unit/run_run \
	tests/unit/run_speed \
	tests/unit/run_thread \
	tests/unit/run_use \
	tests/unit/session_call_log \
	tests/unit/session_connect \
	tests/unit/session_edges \
	tests/unit/session_ends \
	tests/unit/session_exchange \
	tests/unit/session_inputs \
	tests/unit/session_listen \
	tests/unit/session_lists \
	tests/unit/session_mirror \
	tests/unit/session_mirror_calls \
	tests/unit/session_renewal \
	tests/unit/session_renewal_fails \
	tests/unit/session_request \
	tests/unit/toolbox_formats \
	tests/unit/toolbox_instructions \
	tests/unit/toolbox_nomem \
	tests/unit/toolbox_remove \
	tests/unit/toolbox_results \
	tests/unit/toolbox_rules \
	tests/unit/toolbox_toolbox \
	tests/unit/toolbox_use \
	tests/unit/toolbox_wait \
	tests/unit/toolbox_warm

# Of modules that were built.
if MODULE_GEMINI
unit_tests += tests/unit/gemini_gemini
endif
if MODULE_ANTHROPIC
unit_tests += tests/unit/anthropic_anthropic
endif
if MODULE_CHAFA
unit_tests += tests/unit/chafa_chafa tests/unit/chafa_pam
endif
tests_unit_chafa_chafa_SOURCES = tests/unit/chafa_chafa.c plugins/chafa/fit.c
tests_unit_chafa_pam_SOURCES = tests/unit/chafa_pam.c plugins/chafa/pam.c
if MODULE_IMAGE
unit_tests += tests/unit/image_image
endif
tests_unit_image_image_CFLAGS = $(AM_CFLAGS) $(VIPS_CFLAGS)
tests_unit_image_image_LDADD = $(LDADD) $(VIPS_LIBS) -lz
if MODULE_HTML
unit_tests += tests/unit/html_html
endif
if MODULE_OPENAI
unit_tests += tests/unit/openai_chat tests/unit/openai_responses
endif
if MODULE_PDF
unit_tests += tests/unit/pdf_pdf
endif

# What suites share.
unit_support = \
	tests/process.c tests/process.h \
	tests/real/fixture.c tests/real/fixture.h \
	tests/real/listener.c tests/real/listener.h \
	tests/real/wire.c tests/real/wire.h \
	tests/unit/fake.c tests/unit/fake.h \
	tests/unit/box_kit.h \
	tests/unit/config_kit.h \
	tests/unit/document_kit.h \
	tests/unit/fetch_kit.h \
	tests/unit/file_kit.h \
	tests/unit/health_kit.h \
	tests/unit/talker_kit.h \
	tests/unit/ide_kit.h \
	tests/unit/journal_kit.h \
	tests/unit/keeper_kit.h \
	tests/unit/mirror_kit.h \
	tests/unit/model_kit.h \
	tests/unit/own_request.h \
	tests/unit/nomem_kit.h \
	tests/unit/openai_kit.h \
	tests/unit/plugin_modules.h \
	tests/unit/renewal_kit.h \
	tests/unit/run_kit.h \
	tests/unit/small_screen.h \
	tests/unit/script_model.c tests/unit/script_model.h \
	tests/unit/server_kit.h \
	tests/unit/store_kit.h \
	tests/unit/now.h \
	tests/unit/quick.h \
	tests/unit/sanitized.h \
	tests/unit/suite.c tests/unit/suite.h

LDADD = tests/unit/libtest.la libmcplug-cli.la libmcplug-core.la $(CHECK_LIBS)
tests_unit_check_contract_LDADD = libmcplug-check.la $(LDADD)
tests_unit_plugin_vault_LDADD = libmcplug-check.la $(LDADD)
AM_CFLAGS += $(CHECK_CFLAGS)
if HAVE_CHECK
check_LTLIBRARIES += tests/unit/libtest.la
endif
tests_unit_libtest_la_SOURCES = $(unit_support)
if !ANY_BUILTIN
tests_unit_libtest_la_SOURCES += $(wire_sources)
endif
if !BUILTIN_STDIO
tests_unit_libtest_la_SOURCES += $(mark_sources)
endif

# ---- modules for the suites, most of them wrong in one way ---------------------

test_modules = \
	tests/modules/asked.c \
	tests/modules/crash.c \
	tests/modules/good.c \
	tests/modules/old.c \
	tests/modules/old_1.c \
	tests/modules/old_2.c \
	tests/modules/old_3.c \
	tests/modules/chain.c \
	tests/modules/converts.c \
	tests/modules/locate.c \
	tests/modules/models.c \
	tests/modules/needs.c \
	tests/modules/painter.c \
	tests/modules/probes.c \
	tests/modules/script.c \
	tests/modules/shrink.c \
	tests/modules/trial.c \
	tests/modules/unruly.c \
	tests/modules/upper.c \
	tests/modules/vault.c \
	tests/modules/wrong.c
test_modules_support = \
	tests/modules/abi-1.0/mcplug/plugin.h \
	tests/modules/abi-1.0/mcplug/types.h \
	tests/modules/abi-1.1/mcplug/plugin.h \
	tests/modules/abi-1.1/mcplug/types.h \
	tests/modules/abi-1.2/mcplug/plugin.h \
	tests/modules/abi-1.2/mcplug/types.h \
	tests/modules/abi-1.3/mcplug/plugin.h \
	tests/modules/abi-1.3/mcplug/types.h \
	tests/modules/build.sh \
	tests/modules/frozen.sha256

check_DATA = tests/modules/built
tests/modules/built: $(test_modules) $(test_modules_support) $(pkginclude_HEADERS)
	$(AM_V_GEN)CC='$(CC)' CFLAGS='$(CFLAGS)' \
	  $(SHELL) $(top_srcdir)/tests/modules/build.sh $(top_srcdir) tests/modules
	@: > $@

EXTRA_DIST += $(test_modules) $(test_modules_support)
CLEANFILES += tests/modules/built tests/modules/*.so

# ---- programs and scripts with a subject larger than one file ----------------

# Scripts, found by their extension; exit 0 passed, 77 skipped, else failed.
script_tests = \
	tests/cli/catalogue.test \
	tests/cli/lint.test \
	tests/cli/command.test \
	tests/cli/completion.test \
	tests/cli/convert.test \
	tests/cli/doctor.test \
	tests/cli/json.test \
	tests/cli/list.test \
	tests/cli/logs.test \
	tests/cli/model.test \
	tests/cli/results.test \
	tests/cli/run.test \
	tests/cli/skills.test \
	tests/cli/watch.test \
	tests/config/scopes.test \
	tests/config/trust.test \
	tests/config/samples.test \
	tests/config/writes.test \
	tests/embed.test \
	tests/install/builtin.test \
	tests/install/docs.test \
	tests/install/examples.test \
	tests/install/lazy.test \
	tests/install/lean.test \
	tests/install/libraries.test \
	tests/install/linked.test \
	tests/install/manual.test \
	tests/install/outoftree.test \
	tests/install/unmapped.test \
	tests/modules/frozen.test \
	tests/python/events.test \
	tests/python/nulls.test \
	tests/python/toolbox.test \
	tests/locate/docker.test \
	tests/locate/ide.test \
	tests/locate/ssh.test \
	tests/loops.test \
	tests/reaper/clean_up.test \
	tests/reaper/hostile.test \
	tests/reaper/survivors.test

# The command, with the administrator's files where a test wants them.
check_PROGRAMS += tests/config/mcplug
tests_config_mcplug_SOURCES = cli/main.c tests/config/installed.c
tests_config_mcplug_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_config_mcplug_LDADD = libmcplug-cli.la libmcplug-core.la

# Every command in every way to fail; images on a terminal; what is asked at one, and
# conversations there.
cli_tests = tests/cli/failures tests/cli/pictures tests/cli/questions tests/cli/talk
# Files that are much larger than they look.
if MODULE_IMAGE
cli_tests += tests/cli/bombs
endif
tests_cli_bombs_LDADD = $(LDADD) -lz

# A server with skills, some of them wrong.
check_PROGRAMS += tests/cli/skills_server
tests_cli_skills_server_LDADD = libmcplug-core.la $(JANSSON_LIBS)

# Kills and fails a program at every system call of a write.
check_PROGRAMS += tests/config/killer
tests_config_killer_SOURCES = \
	tests/config/killer.c \
	tests/config/trace.c tests/config/trace.h
tests_config_killer_CPPFLAGS = $(base_cppflags)
tests_config_killer_LDADD =

check_PROGRAMS += tests/reaper/clean_up
tests_reaper_clean_up_CPPFLAGS = $(base_cppflags)
tests_reaper_clean_up_LDADD =

check_PROGRAMS += tests/reaper/hostile
tests_reaper_hostile_SOURCES = tests/reaper/hostile.c tests/reaper/tick.h
tests_reaper_hostile_CPPFLAGS = $(base_cppflags)
tests_reaper_hostile_LDADD =

check_PROGRAMS += tests/reaper/survivors
tests_reaper_survivors_SOURCES = tests/reaper/survivors.c tests/reaper/tick.h
tests_reaper_survivors_CPPFLAGS = $(base_cppflags)
tests_reaper_survivors_LDADD =

# A peer that misbehaves on request.
check_PROGRAMS += tests/evil/evil
tests_evil_evil_SOURCES = \
	tests/evil/evil.c tests/evil/evil.h \
	tests/evil/evil_acts.c
tests_evil_evil_CPPFLAGS = $(base_cppflags)
tests_evil_evil_LDADD =

# In place of mcplug-worker.
check_PROGRAMS += tests/evil/evil_worker
tests_evil_evil_worker_LDADD =

check_PROGRAMS += tests/evil/evil_ws
tests_evil_evil_ws_SOURCES = \
	tests/evil/evil_ws.c tests/evil/evil_ws.h \
	tests/evil/evil_ws_acts.c
tests_evil_evil_ws_CPPFLAGS = $(base_cppflags)
tests_evil_evil_ws_LDADD = -lpthread

check_PROGRAMS += tests/evil/evil_http
tests_evil_evil_http_SOURCES = \
	tests/evil/evil_http.c tests/evil/evil_http.h \
	tests/evil/evil_http_acts.c \
	tests/evil/evil_http_floods.c \
	tests/evil/evil_http_streams.c \
	tests/evil/evil_http_wire.c
tests_evil_evil_http_CPPFLAGS = $(base_cppflags)
tests_evil_evil_http_LDADD = -lpthread

# The host facing them.
fault_tests = tests/evil/faults
if MODULE_FETCH
if MODULE_HTTP
if MODULE_SSE
fault_tests += tests/evil/faults_http tests/evil/faults_web tests/evil/faults_load
endif
endif
endif
if MODULE_WEBSOCKET
fault_tests += tests/evil/faults_ws
if MODULE_SOCKET
fault_tests += tests/evil/faults_names
endif
endif
tests_evil_faults_SOURCES = \
	tests/evil/faults.c tests/evil/faults.h tests/evil/run.h \
	tests/evil/faults_closing.c \
	tests/evil/faults_connect.c \
	tests/evil/faults_floods.c \
	tests/evil/faults_kit.c \
	tests/evil/faults_life.c \
	tests/evil/faults_replies.c

tests_evil_faults_http_SOURCES = \
	tests/evil/faults.h \
	tests/evil/faults_http.c tests/evil/faults_http.h \
	tests/evil/faults_http_connect.c \
	tests/evil/faults_http_kit.c \
	tests/evil/faults_http_replies.c \
	tests/evil/faults_kit.c \
	tests/evil/faults_sse.c
tests_evil_faults_web_SOURCES = \
	tests/evil/faults.h \
	tests/evil/faults_http.h \
	tests/evil/faults_http_budget.c \
	tests/evil/faults_http_floods.c \
	tests/evil/faults_http_kit.c \
	tests/evil/faults_http_streams.c \
	tests/evil/faults_kit.c \
	tests/evil/faults_web.c
tests_evil_faults_load_SOURCES = \
	tests/evil/faults.h \
	tests/evil/faults_http.h \
	tests/evil/faults_http_kit.c \
	tests/evil/faults_http_load.c \
	tests/evil/faults_kit.c \
	tests/evil/faults_load.c
tests_evil_faults_ws_SOURCES = \
	tests/evil/faults.h \
	tests/evil/faults_kit.c \
	tests/evil/faults_ws.c
tests_evil_faults_names_SOURCES = \
	tests/evil/faults.h \
	tests/evil/faults_kit.c \
	tests/evil/faults_names.c

# Servers that stay up, whatever happens to them: ten seconds here, ten minutes with
# make soak.
check_PROGRAMS += tests/soak/gate tests/soak/soak
tests_soak_gate_CPPFLAGS = $(base_cppflags)
tests_soak_gate_LDADD =
tests_soak_soak_SOURCES = \
	tests/soak/fleet.c \
	tests/soak/load.c \
	tests/soak/mischief.c \
	tests/soak/own.h \
	tests/soak/sample.c \
	tests/soak/soak.c tests/soak/soak.h
tests_soak_soak_CPPFLAGS = $(base_cppflags)
if MODULE_FETCH
if MODULE_HTTP
if MODULE_SSE
tests_soak_soak_CPPFLAGS += -DSOAK_HTTP
endif
endif
endif
if MODULE_WEBSOCKET
tests_soak_soak_CPPFLAGS += -DSOAK_WEBSOCKET
endif
tests_soak_soak_LDADD = libmcplug.la
tests_soak_soak_LDFLAGS = -no-install

# Any operation at any time, against servers that misbehave, over wires that fail.
check_PROGRAMS += tests/monkey/chaos tests/monkey/monkey bench/echo-net bench/echo-server
tests_monkey_chaos_SOURCES = tests/monkey/chaos.c tests/monkey/book.h
tests_monkey_chaos_CPPFLAGS = $(base_cppflags)
tests_monkey_chaos_LDADD =
tests_monkey_monkey_SOURCES = \
	tests/monkey/acts.c \
	tests/monkey/book.h \
	tests/monkey/hosts.c \
	tests/monkey/look.c \
	tests/monkey/monkey.c tests/monkey/monkey.h \
	tests/monkey/shots.c \
	tests/monkey/wires.c
tests_monkey_monkey_CPPFLAGS = $(base_cppflags)
if MODULE_FETCH
if MODULE_HTTP
if MODULE_SSE
tests_monkey_monkey_CPPFLAGS += -DMONKEY_HTTP
endif
endif
endif
if MODULE_WEBSOCKET
tests_monkey_monkey_CPPFLAGS += -DMONKEY_WEBSOCKET
endif
tests_monkey_monkey_LDADD = libmcplug.la -lpthread
tests_monkey_monkey_LDFLAGS = -no-install

# Servers that stay up, and one that dies on request.
check_PROGRAMS += tests/registry/peer
tests_registry_peer_SOURCES = \
	tests/registry/peer.c tests/registry/peer.h \
	tests/registry/peer_net.c
tests_registry_peer_CPPFLAGS = $(base_cppflags)
tests_registry_peer_LDADD = -lpthread

registry_tests = tests/registry/registry_clock
if MODULE_FETCH
if MODULE_HTTP
if MODULE_SSE
if MODULE_WEBSOCKET
registry_tests += tests/registry/registry_clock_net tests/registry/registry_matrix
endif
endif
endif
endif
tests_registry_registry_clock_SOURCES = \
	tests/registry/clock_loop.c \
	tests/registry/clock_probe.c \
	tests/registry/matrix.h \
	tests/registry/matrix_kit.c tests/registry/matrix_kit.h \
	tests/registry/matrix_system.c \
	tests/registry/registry_clock.c
tests_registry_registry_clock_net_SOURCES = \
	tests/registry/clock_net.c \
	tests/registry/matrix_kit.c tests/registry/matrix_kit.h \
	tests/registry/matrix_system.c
tests_registry_registry_matrix_SOURCES = \
	tests/registry/matrix.h \
	tests/registry/matrix_calls.c \
	tests/registry/matrix_kill.c \
	tests/registry/matrix_kit.c tests/registry/matrix_kit.h \
	tests/registry/matrix_share.c \
	tests/registry/matrix_start.c \
	tests/registry/matrix_system.c \
	tests/registry/matrix_want.c \
	tests/registry/registry_matrix.c
# Modules are to find its posix_spawn() and clock_gettime().
tests_registry_registry_matrix_LDFLAGS = -export-dynamic

# Sessions in which allocations fail: make check-torture.
check_PROGRAMS += tests/evil/torture
tests_evil_torture_CPPFLAGS = $(base_cppflags)
tests_evil_torture_LDADD = libmcplug-core.la

check_LTLIBRARIES += tests/evil/failalloc.la
tests_evil_failalloc_la_SOURCES = tests/evil/failalloc.c
tests_evil_failalloc_la_CPPFLAGS = $(base_cppflags)
tests_evil_failalloc_la_CFLAGS = $(WARN_CFLAGS) -pthread
tests_evil_failalloc_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere

# The examples, with what an embedder has: one header, one library. tests/loops.test has
# those that need more than that.
EXTRA_DIST += examples/embed-asyncio.py examples/embed-glib.c examples/embed-luajit.lua
check_PROGRAMS += examples/embed-ask examples/embed-async examples/embed-blocking examples/embed-convert examples/embed-epoll \
	examples/embed-named examples/embed-poll examples/embed-run examples/embed-threads \
	examples/embed-toolbox
examples_embed_ask_CPPFLAGS = $(base_cppflags)
examples_embed_ask_LDADD = libmcplug.la
examples_embed_ask_LDFLAGS = -no-install
examples_embed_async_CPPFLAGS = $(base_cppflags)
examples_embed_async_LDADD = libmcplug.la
examples_embed_async_LDFLAGS = -no-install
examples_embed_blocking_CPPFLAGS = $(base_cppflags)
examples_embed_blocking_LDADD = libmcplug.la
examples_embed_blocking_LDFLAGS = -no-install
examples_embed_convert_CPPFLAGS = $(base_cppflags)
examples_embed_convert_LDADD = libmcplug.la
examples_embed_convert_LDFLAGS = -no-install
examples_embed_epoll_CPPFLAGS = $(base_cppflags)
examples_embed_epoll_LDADD = libmcplug.la
examples_embed_epoll_LDFLAGS = -no-install
examples_embed_named_CPPFLAGS = $(base_cppflags)
examples_embed_named_LDADD = libmcplug.la
examples_embed_named_LDFLAGS = -no-install
examples_embed_poll_CPPFLAGS = $(base_cppflags)
examples_embed_poll_LDADD = libmcplug.la
examples_embed_poll_LDFLAGS = -no-install
examples_embed_run_CPPFLAGS = $(base_cppflags)
examples_embed_run_LDADD = libmcplug.la
examples_embed_run_LDFLAGS = -no-install
examples_embed_threads_CPPFLAGS = $(base_cppflags)
examples_embed_threads_LDADD = libmcplug.la
examples_embed_threads_LDFLAGS = -no-install
examples_embed_toolbox_CPPFLAGS = $(base_cppflags)
examples_embed_toolbox_LDADD = libmcplug.la
examples_embed_toolbox_LDFLAGS = -no-install

# Suites against real servers, which come from the network: make check-real.
real_tests = \
	tests/real/real_everything \
	tests/real/real_http \
	tests/real/real_ide \
	tests/real/real_legacy \
	tests/real/real_modern \
	tests/real/real_modern_http \
	tests/real/real_proxy \
	tests/real/real_sse \
	tests/real/real_websocket
real_programs = \
	tests/real/differ \
	tests/real/document \
	tests/real/images \
	tests/real/tokens \
	tests/real/vault
EXTRA_PROGRAMS += $(real_tests) $(real_programs)
CLEANFILES += $(real_tests) $(real_programs)
tests_real_differ_SOURCES = tests/real/differ.c plugins/common/sse.c plugins/common/sse.h
tests_real_differ_CPPFLAGS = $(AM_CPPFLAGS) $(CURL_CFLAGS)
tests_real_differ_LDADD = libmcplug-cli.la libmcplug-core.la $(JANSSON_LIBS) $(CURL_LIBS)
tests_real_document_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
tests_real_document_LDADD = libmcplug-core.la
tests_real_images_LDADD = libmcplug-core.la
tests_real_tokens_LDADD = libmcplug-core.la
tests_real_vault_LDADD = libmcplug-core.la
EXTRA_DIST += \
	tests/real/big-results.sh \
	tests/real/certs.sh \
	tests/real/differ.mjs \
	tests/real/differ.sh \
	tests/real/fake-ide-selftest.mjs \
	tests/real/fake-ide.mjs \
	tests/real/images.mjs \
	tests/real/images.sh \
	tests/real/keyring.sh \
	tests/real/kit.sh \
	tests/real/docs.sh \
	tests/real/listen.cjs \
	tests/real/loopback.cjs \
	tests/real/models-sdk.sh \
	tests/real/models/aimock-check.mjs \
	tests/real/models/aimock.json \
	tests/real/models/aimock.mjs \
	tests/real/models/anthropic.mjs \
	tests/real/models/command.mjs \
	tests/real/models/common.mjs \
	tests/real/models/drivers.mjs \
	tests/real/models/gemini.mjs \
	tests/real/models/openai.mjs \
	tests/real/models/runs-aimock.mjs \
	tests/real/models/runs-content.mjs \
	tests/real/models/script.mjs \
	tests/real/models/sdk.mjs \
	tests/real/models/server.mjs \
	tests/real/models/wire.mjs \
	tests/real/modern-server.mjs \
	tests/real/fleet.sh \
	tests/real/named.sh \
	tests/real/package-lock.json \
	tests/real/package.json \
	tests/real/podman.sh \
	tests/real/results.sh \
	tests/real/runs.sh \
	tests/real/html.sh \
	tests/real/pdf.sh \
	tests/real/screenshot.sh \
	tests/real/terminal.py \
	tests/real/run.sh \
	tests/real/ssh.sh \
	tests/real/texts/arabic.txt \
	tests/real/texts/chinese.txt \
	tests/real/texts/emoji.txt \
	tests/real/texts/japanese.txt \
	tests/real/tokens.mjs \
	tests/real/tokens.sh

# The official conformance suite, which comes from the network: make check-conformance.
EXTRA_PROGRAMS += tests/conformance/client
CLEANFILES += tests/conformance/client
tests_conformance_client_SOURCES = \
	tests/conformance/client.c \
	tests/conformance/client_kit.c tests/conformance/client_kit.h
tests_conformance_client_CPPFLAGS = $(base_cppflags)
tests_conformance_client_LDADD = libmcplug.la $(JANSSON_LIBS)
tests_conformance_client_LDFLAGS = -no-install
EXTRA_DIST += \
	tests/conformance/expected-failures \
	tests/conformance/package-lock.json \
	tests/conformance/package.json \
	tests/conformance/run \
	tests/conformance/run.mjs

# ---- make check --------------------------------------------------------------

# What tests find in their environment: MCPLUG_SRC, MCPLUG_BUILD, MCPLUG_TEST_MODULES,
# and the paths that make an uninstalled mcplug work.

# Those that take longest come first, so that none runs alone in the end.
TESTS =
if HAVE_CHECK
TESTS += $(registry_tests) $(fault_tests) $(cli_tests)
endif
TESTS += tests/soak/soak tests/monkey/monkey
TESTS += $(script_tests)
TEST_EXTENSIONS = .test
TEST_LOG_COMPILER = $(SHELL)
if HAVE_CHECK
check_PROGRAMS += $(unit_tests) $(fault_tests) $(registry_tests) $(cli_tests)
TESTS += $(unit_tests)
endif

AM_TESTS_ENVIRONMENT = \
	MCPLUG_SRC='$(abs_top_srcdir)'; export MCPLUG_SRC; \
	MCPLUG_BUILD='$(abs_top_builddir)'; export MCPLUG_BUILD; \
	MCPLUG_PLUGIN_PATH='$(abs_top_builddir)/plugins/.libs'; export MCPLUG_PLUGIN_PATH; \
	MCPLUG_HELPER_PATH='$(abs_top_builddir)/helpers'; export MCPLUG_HELPER_PATH; \
	MCPLUG_MODULE_PACKAGES='$(abs_top_builddir)/conf/module-packages'; \
	export MCPLUG_MODULE_PACKAGES; \
	MCPLUG_TEST_MODULES='$(abs_top_builddir)/tests/modules'; export MCPLUG_TEST_MODULES; \
	CC='$(CC)'; export CC;

EXTRA_DIST += tests/python/events.py tests/python/mcplug.py tests/python/nulls.py tests/python/toolbox.py
EXTRA_DIST += tests/cli/kit.sh tests/cli/terminal.h tests/config/import tests/npm-install.sh tests/install/console.sh tests/install/pipe.c tests/install/stage.sh
EXTRA_DIST += $(script_tests) $(fuzz_files) tests/lint/lint.sh tests/fuzz/run.sh \
	tests/fuzz/converters.sh \
	tests/valgrind.supp tests/evil/torture.sh

# ---- the same under harder conditions ----------------------------------------

.PHONY: check-asan check-conformance check-valgrind check-torture check-real soak fuzz lint format bench

CLANG = clang
CLANG_FORMAT = clang-format
VALGRIND = valgrind

ASAN_CFLAGS = -g1 -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined \
	-fno-omit-frame-pointer

# A build of its own. One in the source tree keeps configure from working elsewhere,
# so that gets a copy of the sources first. intercept_tls_get_addr=0: the sanitizer of
# GCC 12 reads the size of a TLS block from the 16 bytes before it if the block begins 16
# bytes into a page. These are the allocator's, and the leak check crashes on them.
check-asan:
	@if test ! -f build-asan/Makefile; then \
	  $(MKDIR_P) build-asan && src=$(abs_top_srcdir) && \
	  if test -f "$$src/config.status"; then \
	    src=$(abs_top_builddir)/build-asan/source && rm -rf "$$src" && \
	    $(MAKE) distdir distdir=build-asan/source; \
	  fi && \
	  cd build-asan && "$$src/configure" -q $(ASAN_CONFIGURE_FLAGS) CC='$(CC)' \
	    CFLAGS='$(ASAN_CFLAGS)'; \
	fi
	$(MAKE) -C build-asan all
	ASAN_OPTIONS=detect_leaks=1:intercept_tls_get_addr=0 UBSAN_OPTIONS=print_stacktrace=1 \
	  MCPLUG_TEST_QUICK=1 CK_TIMEOUT_MULTIPLIER=4 $(MAKE) -C build-asan check

# libvips keeps threads for the next image, and takes ten minutes here: check-asan has it.
check-valgrind: all
	MCPLUG_TEST_VALGRIND=1 CK_TIMEOUT_MULTIPLIER=5 $(MAKE) check \
	  TESTS='$(filter-out tests/unit/image_image,$(unit_tests))' LOG_COMPILER='$(VALGRIND)' \
	  LOG_FLAGS='-q --leak-check=full --error-exitcode=99 \
	    --suppressions=$(abs_top_srcdir)/tests/valgrind.supp'

# Every allocation of a session fails, alone and with all that follow, over every wire.
# Every 9th only, which is quicker: TORTURE_FLAGS='--shallow 9'; of sessions over a
# network, which allocate ten times as often: TORTURE_NET_FLAGS='--shallow 17'
TORTURE_FLAGS =
TORTURE_NET_FLAGS =
torture_peers =
torture_wires =
if MODULE_FETCH
if MODULE_HTTP
torture_peers += tests/evil/evil_http
torture_wires += http:/ok http:/ok?sse http:/session?sse
if MODULE_IDE
torture_wires += http:/ok:http-ide
endif
endif
endif
if MODULE_WEBSOCKET
torture_peers += tests/evil/evil_ws
torture_wires += ws:/ok
endif
check-torture: all
	$(MAKE) tests/evil/torture tests/evil/failalloc.la $(torture_peers)
	@$(AM_TESTS_ENVIRONMENT) failed=0; \
	run='$(SHELL) $(top_srcdir)/tests/evil/torture.sh $(TORTURE_FLAGS)'; \
	what='tests/evil/torture tests/evil/.libs/failalloc.so'; \
	$$run $$what examples/mcplug-example-server || failed=1; \
	for wire in $(torture_wires); do \
	  scheme=$${wire%%:*} path=$${wire#*:} type=; \
	  case $$path in *:*) type=$${path#*:} path=$${path%%:*} ;; esac; \
	  $$run $(TORTURE_NET_FLAGS) --peer tests/evil/evil_$$scheme $$what \
	    "$$scheme://127.0.0.1:PORT$$path" $$type || failed=1; \
	done; \
	exit $$failed

# Longer: make soak SOAK=3600. As before: SEED=n, which it prints. One of the two alone:
# SOAK=0, or MONKEY=0.
SOAK = 600
MONKEY = $(SOAK)
SEED =
soak: all
	$(MAKE) tests/soak/soak tests/soak/gate tests/evil/evil tests/evil/evil_http \
	  tests/evil/evil_ws tests/monkey/monkey tests/monkey/chaos bench/echo-net \
	  bench/echo-server
	@$(AM_TESTS_ENVIRONMENT) test '$(SOAK)' = 0 || tests/soak/soak $(SOAK) $(SEED)
	@$(AM_TESTS_ENVIRONMENT) test '$(MONKEY)' = 0 || \
	  tests/monkey/monkey --seconds $(MONKEY) $(SEED:%=--seed %)

check-real: all $(real_tests) tests/real/vault bench/mcplug-results bench/result-server
	@$(AM_TESTS_ENVIRONMENT) $(top_srcdir)/tests/real/run.sh $(abs_top_builddir)

check-conformance: all tests/conformance/client
	@$(AM_TESTS_ENVIRONMENT) $(top_srcdir)/tests/conformance/run $(abs_top_builddir)

# Files for converters, through the worker: tests/fuzz/converters.sh.
EXTRA_PROGRAMS += tests/fuzz/converters
CLEANFILES += tests/fuzz/converters
tests_fuzz_converters_CPPFLAGS = $(base_cppflags)
tests_fuzz_converters_LDADD = libmcplug.la
tests_fuzz_converters_LDFLAGS = -no-install

fuzz_files = \
	tests/fuzz/anthropic.dict \
	tests/fuzz/fuzz_anthropic.c \
	tests/fuzz/fuzz_gemini.c \
	tests/fuzz/gemini.dict \
	tests/fuzz/model.h \
	tests/fuzz/answer.dict \
	tests/fuzz/content.dict \
	tests/fuzz/typed_args.dict \
	tests/fuzz/corpus \
	tests/fuzz/fuzz_typed_args.c \
	tests/fuzz/fuzz_answer.c \
	tests/fuzz/fuzz_assembler.c \
	tests/fuzz/fuzz_base64.c \
	tests/fuzz/fuzz_content.c \
	tests/fuzz/fuzz_escape.c \
	tests/fuzz/fuzz_header.c \
	tests/fuzz/fuzz_html.c \
	tests/fuzz/fuzz_lines.c \
	tests/fuzz/fuzz_lint.c \
	tests/fuzz/lint.dict \
	tests/fuzz/fuzz_openai_chat.c \
	tests/fuzz/fuzz_openai_responses.c \
	tests/fuzz/openai_chat.dict \
	tests/fuzz/openai_responses.dict \
	tests/fuzz/fuzz_props.c \
	tests/fuzz/fuzz_scan.c \
	tests/fuzz/fuzz_session.c \
	tests/fuzz/fuzz_sse.c \
	tests/fuzz/config.dict \
	tests/fuzz/edit.dict \
	tests/fuzz/expand.dict \
	tests/fuzz/fuzz_config.c \
	tests/fuzz/fuzz_edit.c \
	tests/fuzz/fuzz_expand.c \
	tests/fuzz/fuzz_import.c \
	tests/fuzz/fuzz_line_edit.c \
	tests/fuzz/line_edit.dict \
	tests/fuzz/fuzz_pam.c \
	tests/fuzz/fuzz_path.c \
	tests/fuzz/fuzz_policy.c \
	tests/fuzz/fuzz_summary.c \
	tests/fuzz/fuzz_tokens.c \
	tests/fuzz/fuzz_toml.c \
	tests/fuzz/html.dict \
	tests/fuzz/import.dict \
	tests/fuzz/must.h \
	tests/fuzz/fuzz_uri.c \
	tests/fuzz/fuzz_url.c \
	tests/fuzz/pam.dict \
	tests/fuzz/path.dict \
	tests/fuzz/policy.dict \
	tests/fuzz/scan.dict \
	tests/fuzz/session.dict \
	tests/fuzz/summary.dict \
	tests/fuzz/fuzz_yaml.c \
	tests/fuzz/toml.dict \
	tests/fuzz/yaml.dict

# make fuzz FUZZ_RUNS=n [FUZZ_ONLY="scan uri"]
FUZZ_RUNS = 100000
FUZZ_ONLY =
fuzz:
	@CC='$(CLANG)' CPPFLAGS='$(DEFAULT_INCLUDES) $(fuzz_cppflags)' \
	  LIBS='$(UV_LIBS) $(JANSSON_LIBS) $(fuzz_libs) $(SYS_LIBS)' RUNS='$(FUZZ_RUNS)' ONLY='$(FUZZ_ONLY)' \
	  $(SHELL) $(top_srcdir)/tests/fuzz/run.sh $(top_srcdir) fuzz $(fuzz_sources)

fuzz_cppflags = $(AM_CPPFLAGS) -DMCPLUG_BUILTIN \
	-DMCPLUG_PLUGIN_DIR=\"$(pluginexecdir)\" -DMCPLUG_HELPER_DIR=\"$(helperexecdir)\" \
	-DMCPLUG_SYSCONF_DIR=\"$(sysconfdir)\" -DMCPLUG_DATA_DIR=\"$(datadir)\" \
	$(UV_CFLAGS) $(JANSSON_CFLAGS)
fuzz_sources = $(core_sources) $(wire_sources) $(url_sources) \
	$(stdio_sources) $(socket_sources) \
	$(model_sources) $(web_base_sources) $(anthropic_sources) \
	$(gemini_sources) \
	$(openai_sources) \
	cli/base/keys.c \
	cli/base/line_edit.c \
	cli/base/out.c \
	cli/base/tree.c \
	cli/base/typed_args.c \
	cli/import/entry.c \
	cli/import/fields.c \
	cli/import/import.c \
	cli/import/programs.c \
	cli/import/relax.c \
	cli/import/text.c \
	cli/import/toml.c \
	cli/import/toml_scalar.c \
	cli/skills/yaml.c \
	cli/skills/yaml_scalar.c \
	plugins/chafa/fit.c \
	plugins/chafa/pam.c
fuzz_libs =
if MODULE_HTML
fuzz_cppflags += -DFUZZ_HTML $(GUMBO_CFLAGS)
fuzz_sources += $(html_sources)
fuzz_libs += $(GUMBO_LIBS)
endif

lint:
	@cd $(top_srcdir) && CC='$(CC)' CLANG_FORMAT='$(CLANG_FORMAT)' \
	  $(SHELL) tests/lint/lint.sh

format:
	cd $(top_srcdir) && find include core cli plugins helpers examples bench tests \
	  \( -name node_modules -o -path 'tests/modules/abi-*' \) -prune -o \
	  -name '*.[ch]' -print | xargs $(CLANG_FORMAT) -i

clean-local:
	rm -rf fuzz build-asan doc/man3

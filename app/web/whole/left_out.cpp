// Stubs for features that node lacks: full screens, signals, watched files, threads of BLAS.
#include <fcntl.h>
#include <sys/ioctl.h>
#include <utf8proc.h>

#include <cstdarg>

#include "app/cli.hpp"
#include "app/commands/commands.hpp"
#include "app/commands/walk.hpp"
#include "app/stepper/session.hpp"
#include "app/terminal/terminal.hpp"
#include "attn/ground/simd/matmul.hpp"
#include "attn/ground/tensor/error.hpp"
#include "attn/judge/diagnose/diagnose.hpp"

namespace app {
namespace {

[[noreturn]] void lack(const std::string& what) {
    throw attn::ConfigError(what + " is not in the program for node: use the one for Debian");
}

}  // namespace

void restore_environment() {}

bool has_screen(bool) { return false; }
std::string leaving_sequence() { return {}; }
void remove_temporaries_on_signals() {}
void report_full_files() {}
void ensure_stack() {}
TerminalGuard::TerminalGuard() = default;
TerminalGuard::~TerminalGuard() = default;
void TerminalGuard::watch(std::string) {}

/// Stubs for commands that run other programs.
int run_program(const Arguments&) { lack("running programs"); }
std::vector<Flag> program_flags() { return {{flags::file, "FILE", "a program"}}; }
Command lacking(const char* name, const char* summary) {
    return {name, summary, {table<program_flags>}, run_program, {}};
}
Command explain_command() {
    return lacking("explain",
                   "run your own program and name the step and the mistake of each line");
}
std::string page_of(const attn::Diagnosis&, const attn::DiagnoseOptions&, const std::string&,
                    const std::string&, const std::string&) {
    lack("the page of diagnose");
}
std::optional<int> explained_trace(const Arguments&, const attn::Ledger&) { return std::nullopt; }
Command practice_command() {
    return lacking("practice", "write attention yourself, in sixteen exercises that are checked");
}
Command proofread_command() {
    return lacking("proofread",
                   "find the printed numbers of a document that do not follow from the rest");
}
std::string document_text(const std::string&) { lack("the reader of pages and notebooks"); }
Command grade_command() { return lacking("grade", "check a folder of answers to the exercises"); }

void step_on_screen(Session&, bool) { lack("the full screen of step"); }
void watch(const Arguments&, const WalkOnce&) { lack("--watch"); }

}  // namespace app

namespace attn {

std::string blas_core_type() { return "none"; }

}  // namespace attn

extern "C" {
int node_is_terminal(int descriptor);
/// Return the columns and rows of a terminal.
int node_columns(int descriptor);
int node_rows(int descriptor);

int isatty(int descriptor) { return node_is_terminal(descriptor); }
int ioctl(int descriptor, int what, ...) {
    if (what != TIOCGWINSZ || node_is_terminal(descriptor) == 0) return -1;
    std::va_list more;
    va_start(more, what);
    auto* const size = va_arg(more, winsize*);
    va_end(more);
    size->ws_col = static_cast<unsigned short>(node_columns(descriptor));
    size->ws_row = static_cast<unsigned short>(node_rows(descriptor));
    return 0;
}

extern const char attn_stories_begin[];
/// The address to which a page copies its model.
const char* attn_model() { return attn_stories_begin; }

/// Disk space is not reserved beforehand.

/// Normalizes a text to one of the four forms of Unicode; returns its size, or -1 if it is not
/// UTF-8.
int node_normalized(const utf8proc_uint8_t* text, std::size_t size, int form,
                    utf8proc_uint8_t** result);

utf8proc_ssize_t utf8proc_map(const utf8proc_uint8_t* text, utf8proc_ssize_t size,
                              utf8proc_uint8_t** result, utf8proc_option_t options) {
    const int form =
        ((options & UTF8PROC_COMPOSE) != 0 ? 0 : 1) + ((options & UTF8PROC_COMPAT) != 0 ? 2 : 0);
    return node_normalized(text, static_cast<std::size_t>(size), form, result);
}
}

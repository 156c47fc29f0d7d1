#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>

#include "app/cli.hpp"
#include "app/terminal/messages.hpp"
#include "app/terminal/standard_output.hpp"
#include "app/terminal/terminal.hpp"
#include "attn/files/io/temporaries.hpp"
#include "attn/ground/tensor/error.hpp"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace {

/// Keeps freed memory in the process: large tensors come and go, and the system would clear each of
/// their pages again.
void keep_freed_memory() {
#if defined(__GLIBC__)
    mallopt(M_MMAP_THRESHOLD, 1 << 25);  // the largest value that it accepts
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_TOP_PAD, 1 << 25);  // requests whole large pages
#endif
}

constexpr const char* starved =
    "attn-explain: error: not enough memory: make the dimensions smaller\n";

/// A library may allocate while it handles a failed allocation: then no catch clause is reached.
[[noreturn]] void end_starved() {
    try {
        if (const std::exception_ptr thrown = std::current_exception()) {
            std::rethrow_exception(thrown);
        }
    } catch (const std::bad_alloc&) {
        attn::remove_pending();
        std::fputs(starved, stderr);
        std::_Exit(2);
    } catch (...) {  // fall through to std::abort
    }
    std::abort();
}

}  // namespace

int main(int argc, char** argv) {
    std::set_terminate(end_starved);
    app::restore_environment();
    keep_freed_memory();
    app::report_full_files();
    app::remove_temporaries_on_signals();
    try {
        try {
            app::ensure_stack();
            return app::run(argc, argv);
        } catch (const app::ClosedPipe&) {
            return 0;  // the reader is gone: nothing to report
        } catch (const attn::Error& error) {
            app::report_error(error.what());
        } catch (const std::filesystem::filesystem_error& error) {
            app::report_error(error.path1().string() + ": " + error.code().message() +
                              ": check that the folder is still there");
        }
    } catch (const std::bad_alloc&) {  // also while reporting an error: nothing is allocated here
        std::fputs(starved, stderr);
    } catch (const std::exception&) {
        std::fputs("attn-explain: error: the program itself is at fault: report this command\n",
                   stderr);
    }
    return 2;
}

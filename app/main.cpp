#include <cstdlib>
#include <exception>

#include "app/cli.hpp"
#include "app/terminal/messages.hpp"
#include "app/terminal/standard_output.hpp"

namespace {

constexpr const char* blas_threads = "OPENBLAS_NUM_THREADS";
const char* given_blas_threads = nullptr;

/// Before main() OpenBLAS starts as many threads as it is told, or one for each core, which takes
/// as long as a small walk. It shall start none: those that share large work are our own. The
/// priority runs this ahead of OpenBLAS's own constructor.
[[gnu::constructor(101)]] void start_blas_without_threads() {
    given_blas_threads = std::getenv(blas_threads);
    setenv(blas_threads, "1", 1);
}

/// Programs started from here, such as the pager, get the environment as it was.
void restore_environment() {
    if (given_blas_threads != nullptr) {
        setenv(blas_threads, given_blas_threads, 1);
    } else {
        unsetenv(blas_threads);
    }
}

}  // namespace

int main(int argc, char** argv) {
    restore_environment();
    try {
        return app::run(argc, argv);
    } catch (const app::ClosedPipe&) {
        return 0;  // nobody reads on: nothing is left to say
    } catch (const std::bad_alloc&) {
        app::report_error("not enough memory: make the dimensions smaller");
    } catch (const std::exception& error) {
        app::report_error(error.what());
    }
    return 2;
}

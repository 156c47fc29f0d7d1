#include <cstdlib>
#include <exception>

#include "app/cli.hpp"
#include "app/terminal/messages.hpp"
#include "app/terminal/standard_output.hpp"

namespace {

constexpr const char* blas_threads = "OPENBLAS_NUM_THREADS";
bool blas_threads_given = false;

/// Before main() OpenBLAS starts a thread for each core, which takes as long as a small walk.
/// Unless it is told how many, tell it one: what is large asks for more (set_blas_threads). The
/// priority runs this ahead of OpenBLAS's own constructor.
[[gnu::constructor(101)]] void keep_blas_to_one_thread() {
    blas_threads_given = std::getenv(blas_threads) != nullptr;
    if (!blas_threads_given) setenv(blas_threads, "1", 0);
}

}  // namespace

int main(int argc, char** argv) {
    // Programs started from here, such as the pager, get the environment as it was.
    if (!blas_threads_given) unsetenv(blas_threads);
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

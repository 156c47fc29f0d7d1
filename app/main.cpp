#include <exception>

#include "app/blas_threads.hpp"
#include "app/cli.hpp"
#include "app/terminal/messages.hpp"
#include "app/terminal/signals.hpp"
#include "app/terminal/standard_output.hpp"

int main(int argc, char** argv) {
    app::restore_environment();
    app::report_full_files();
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

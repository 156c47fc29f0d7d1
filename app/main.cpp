#include <cstdio>
#include <exception>
#include <filesystem>
#include <new>

#include "app/cli.hpp"
#include "app/terminal/messages.hpp"
#include "app/terminal/standard_output.hpp"
#include "app/terminal/terminal.hpp"
#include "attn/tensor/error.hpp"

int main(int argc, char** argv) {
    app::restore_environment();
    app::report_full_files();
    try {
        try {
            app::ensure_stack();
            return app::run(argc, argv);
        } catch (const app::ClosedPipe&) {
            return 0;  // nobody reads on: nothing is left to say
        } catch (const attn::Error& error) {
            app::report_error(error.what());
        } catch (const std::filesystem::filesystem_error& error) {
            app::report_error(error.path1().string() + ": " + error.code().message() +
                              ": check that the folder is still there");
        }
    } catch (const std::bad_alloc&) {  // also of what reports an error: nothing is allocated here
        std::fputs("attn-explain: error: not enough memory: make the dimensions smaller\n", stderr);
    } catch (const std::exception&) {
        std::fputs("attn-explain: error: the program itself is at fault: report this command\n",
                   stderr);
    }
    return 2;
}

#include "app/terminal/signals.hpp"

#include <csignal>

#include "attn/io/atomic_file.hpp"
#include "attn/io/output_folder.hpp"

namespace app {
namespace {

void clean_up_and_end(int signal) {
    attn::remove_pending_files();
    attn::remove_pending_folder();
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

}  // namespace

void remove_temporaries_on_signals() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        // A signal that the caller chose to ignore (nohup) stays ignored.
        if (std::signal(signal, clean_up_and_end) == SIG_IGN) std::signal(signal, SIG_IGN);
    }
}

}  // namespace app

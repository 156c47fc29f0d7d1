// Writes the shell completions and man pages of attn-explain, made from its own flags, into a
// folder. Built and run with the program, and not installed.
#include <cstdio>
#include <exception>
#include <filesystem>

#include "app/reference/description.hpp"
#include "attn/io/atomic_file.hpp"

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fputs("usage: attn-explain-reference FOLDER\n", stderr);
        return 2;
    }
    try {
        const std::filesystem::path folder = argv[1];
        std::filesystem::create_directories(folder / "man1");
        const auto commands = reference::describe_program();
        attn::write_file(folder / "attn-explain.bash", reference::bash_completion(commands));
        attn::write_file(folder / "_attn-explain", reference::zsh_completion(commands));
        attn::write_file(folder / "attn-explain.fish", reference::fish_completion(commands));
        for (const reference::CommandDescription& command : commands) {
            const std::string name =
                command.name.empty() ? "attn-explain" : "attn-explain-" + command.name;
            attn::write_file(folder / "man1" / (name + ".1"),
                             reference::man_page(commands, command));
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "attn-explain-reference: error: %s\n", error.what());
        return 2;
    }
    return 0;
}

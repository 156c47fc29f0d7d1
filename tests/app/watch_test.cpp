// --watch: a walk is computed again when its files change.
#include <chrono>

#include "tests/support/terminal.hpp"

using program::has;

namespace {

void write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

}  // namespace

TEST_SUITE("app: watch") {
    TEST_CASE("a changed cell is named and underlined; an interrupt restores the terminal") {
        const program::Folder folder;
        const std::string file = folder / "x.csv";
        write(file, "1,2\n3,4\n");
        Terminal terminal("trap : INT\nstty -a | cksum\nattn-explain --watch --x " + file +
                          " --projection none --only x,scores -q\necho code $?\nstty -a | cksum");
        terminal.wait_for("25.]");
        write(file, "1,2\n3,5\n");
        const std::string screen = terminal.wait_for("# changed: x 1 of 4 cells, scores 3 of 4");
        CHECK(has(terminal.screen(true), "3., \x1b[4m5."));
        terminal.press("C-c");
        const std::string last = terminal.wait_for("code 130");
        const std::string sum = last.substr(0, last.find('\n'));
        CHECK(has(last, "code 130\n" + sum));
    }

    TEST_CASE("a file moved into place counts as changed, a file being written does not") {
        const program::Folder folder;
        const std::string file = folder / "x.csv";
        write(file, "1,2\n3,4\n");
        Terminal terminal("attn-explain --watch --x " + file + " --projection none --only x -q", 80,
                          50);
        terminal.wait_for("4.]");
        {
            std::ofstream half(file);
            half << "1,2\n3," << std::flush;
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            CHECK_FALSE(has(terminal.screen(), "changed"));
            half << "6\n";
        }
        terminal.wait_for("x 1 of 4 cells");
        write(folder / "new.csv", "1,2\n7,8\n");
        std::filesystem::rename(folder / "new.csv", file);
        terminal.wait_for("x 2 of 4 cells");
        write(folder / "another.csv", "1");
        write(file, "1,2\n7\n");
        terminal.wait_for("attn-explain: error: ");
        write(file, "1,2,3\n7,8,9\n");
        const std::string screen = terminal.wait_for("x has shape (2, 3), had (2, 2)");
        CHECK(screen.find("error") == screen.rfind("error"));
    }

    TEST_CASE("settings, masks and parameters are watched too, and output can go to files") {
        const program::Folder folder;
        const std::string config = folder / "c.json";
        const std::string mask = folder / "mask.csv";
        const std::string page = folder / "walk.json";
        write(config, R"({"text": ["a b"], "heads": 1})");
        write(mask, "0,1\n0,0\n");
        Terminal terminal("attn-explain --watch --only weights -q --config " + config +
                              " --mask-true drop --mask-file " + mask,
                          80, 50);
        terminal.wait_for("1.0000");
        write(config, R"({"text": ["a b"], "heads": 2})");
        terminal.wait_for("weights has shape (2, 2, 2), had (2, 2)");
        write(mask, "0,0\n0,0\n");
        terminal.wait_for("# changed: weights 4 of 8 cells");
        Terminal writer("attn-explain --watch --config " + config + " -o " + page);
        for (int tries = 0; tries < 500 && !std::filesystem::exists(page); ++tries) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        write(config, R"({"text": ["c d"], "heads": 2})");
        for (int tries = 0; tries < 500 && !has(program::read_file(page), "\"c d\""); ++tries) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        }
        CHECK(has(program::read_file(page), "\"c d\""));
    }

    TEST_CASE("a walk without input files has nothing to watch") {
        program::check_refused("--watch --text 'a b'", "--watch waits for files to change");
        program::check_refused("--watch --x nowhere.npy", "nowhere.npy");
    }
}

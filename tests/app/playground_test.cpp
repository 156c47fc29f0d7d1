// The page that contains the whole program; tests/browser/play.mjs uses it.
#include <filesystem>

#include "tests/support/program.hpp"

using program::Folder;
using program::has;
using program::run;

TEST_SUITE("app: playground") {
    TEST_CASE("the playground is one file, with or without the model, that loads no other file") {
        const Folder folder;
        const std::string with = folder / "with.html", without = folder / "without.html";
        REQUIRE(run("playground -o '" + with + "'").exit_code == 0);
        REQUIRE(run("playground --no-model -o '" + without + "'").exit_code == 0);
        CHECK(std::filesystem::file_size(with) < 3'280'000);
        CHECK(std::filesystem::file_size(without) < 2'200'000);
        for (const std::string& file : {with, without}) {
            const std::string page = program::read_file(file);
            CHECK(has(page, "default-src 'none'"));
            CHECK(!has(page, "src=\"http"));
            CHECK(!has(page, "import("));
        }
    }
}

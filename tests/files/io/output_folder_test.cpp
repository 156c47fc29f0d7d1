#include "attn/files/io/output_files.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "attn/ground/tensor/error.hpp"
#include "tests/files/io/scratch.hpp"
#include "tests/support/program.hpp"

using namespace attn;
using program::names_in;

namespace {

using Names = std::set<std::string>;

// A walk.json of this program that names these steps.
std::string walk_of(const std::vector<std::string>& steps) {
    std::string text = R"({"attn_explain":"1","config":{},"steps":[)";
    for (const std::string& step : steps) {
        text += (text.back() == '[' ? "" : ",") + (R"({"name":")" + step + "\"}");
    }
    return text + "]}";
}

// Saves a folder with a file for each step.
void save(const std::filesystem::path& path, const std::vector<std::string>& steps) {
    OutputFolder folder(path.string());
    for (std::size_t i = 0; i < steps.size(); ++i) {
        write_file(folder.file("0" + std::to_string(i + 1) + "_" + steps[i] + ".npy"), steps[i]);
    }
    write_file(folder.file("walk.json"), walk_of(steps));
    folder.commit();
}

}  // namespace

TEST_SUITE("output_folder") {
    TEST_CASE("a folder does not exist before commit, and is complete after it") {
        const ScratchFolder scratch;
        {
            OutputFolder folder(scratch / "out");
            write_file(folder.file("01_x.npy"), "1");
            CHECK_FALSE(std::filesystem::exists(scratch / "out"));
            write_file(folder.file("walk.json"), "2");
            folder.commit();
        }
        CHECK(names_in(scratch / "out") == Names{"01_x.npy", "walk.json"});
        CHECK(names_in(scratch.path()) == Names{"out"});
    }

    TEST_CASE("without commit the older folder stays as it was") {
        const ScratchFolder scratch;
        save(scratch / "out", {"x"});
        {
            OutputFolder folder(scratch / "out");
            write_file(folder.file("walk.json"), "new");
        }
        CHECK(program::read_file(scratch / "out" / "walk.json") == walk_of({"x"}));
        CHECK(names_in(scratch.path()) == Names{"out"});
    }

    TEST_CASE("a folder of an earlier run is replaced, with nothing left of it") {
        const ScratchFolder scratch;
        save(scratch / "out/", {"x", "query", "context"});
        save(scratch / "out/", {"x"});
        CHECK(names_in(scratch / "out") == Names{"01_x.npy", "walk.json"});
        CHECK(names_in(scratch.path()) == Names{"out"});
    }

    TEST_CASE("a file that walk.json does not list is the user's, whatever its name") {
        const ScratchFolder scratch;
        const auto refused = [&] {
            try {
                save(scratch / "out", {"query"});
            } catch (const OutputError& error) {
                return std::string(error.what()).substr((scratch / "out").string().size());
            }
            return std::string("no OutputError");
        };
        std::filesystem::create_directory(scratch / "out");
        write_file(scratch / "out" / "01_measured.npy", "mine");
        CHECK(refused() ==
              ": it holds '01_measured.npy' and no walk.json from save-dir: name a new or an "
              "empty folder");
        write_file(scratch / "out" / "walk.json", "{\"walk\": 5}");
        CHECK(refused().starts_with(": its walk.json is not from save-dir"));
        write_file(scratch / "out" / "walk.json", walk_of({"x"}));
        CHECK(refused().starts_with(": it holds '01_measured.npy', which its walk.json does not"));
        std::filesystem::remove(scratch / "out" / "01_measured.npy");
        save(scratch / "out", {"x"});
        write_file(scratch / "out" / "09_x.npy", "mine");
        CHECK(refused().starts_with(": it holds '09_x.npy', which its walk.json does not name"));
        CHECK(program::read_file(scratch / "out" / "09_x.npy") == "mine");
    }

    TEST_CASE("a file that appears while the folder is written is kept") {
        const ScratchFolder scratch;
        save(scratch / "out", {"x"});
        OutputFolder folder((scratch / "out").string());
        write_file(folder.file("walk.json"), walk_of({}));
        write_file(scratch / "out" / "late.txt", "mine");
        CHECK_THROWS_AS(folder.commit(), OutputError);
        std::size_t kept = 0;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(scratch.path())) {
            if (entry.path().filename() == "late.txt") ++kept;
        }
        CHECK(kept == 1);
    }

    TEST_CASE("a folder with any other file in it is left alone") {
        const ScratchFolder scratch;
        for (const char* name : {"notes.txt", "x.npy", "1_x.npy", "01_x.txt"}) {
            std::filesystem::create_directory(scratch / "out");
            write_file(scratch / "out" / name, "mine");
            CHECK_THROWS_AS(OutputFolder((scratch / "out").string()), OutputError);
            CHECK(names_in(scratch / "out") == Names{name});
            std::filesystem::remove_all(scratch / "out");
        }
        write_file(scratch / "file", "mine");
        CHECK_THROWS_AS(OutputFolder((scratch / "file").string()), OutputError);
        CHECK_THROWS_AS(OutputFolder((scratch / "no" / "where").string()), OutputError);
        CHECK_THROWS_AS(OutputFolder(""), OutputError);
        CHECK(names_in(scratch.path()) == Names{"file"});
    }

    TEST_CASE("a signal handler removes the temporary folder and nothing else") {
        const ScratchFolder scratch;
        const pid_t child = ::fork();
        if (child == 0) {
            OutputFolder folder(scratch / "out");
            write_file(folder.file("01_x.npy"), "1");
            remove_pending();
            ::_exit(0);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        CHECK(names_in(scratch.path()).empty());
    }
}

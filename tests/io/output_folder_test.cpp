#include "attn/io/output_folder.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>

#include "attn/io/atomic_file.hpp"
#include "attn/tensor/error.hpp"
#include "tests/io/scratch.hpp"
#include "tests/support/program.hpp"

using namespace attn;

namespace {

std::set<std::string> names_in(const std::filesystem::path& folder) {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        names.insert(entry.path().filename().string());
    }
    return names;
}

using Names = std::set<std::string>;

}  // namespace

TEST_SUITE("output_folder") {
    TEST_CASE("a folder is not there before commit, and whole after it") {
        const Scratch scratch;
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
        const Scratch scratch;
        std::filesystem::create_directory(scratch / "out");
        write_file(scratch / "out" / "walk.json", "old");
        {
            OutputFolder folder(scratch / "out");
            write_file(folder.file("walk.json"), "new");
        }
        CHECK(program::read_file(scratch / "out" / "walk.json") == "old");
        CHECK(names_in(scratch.path()) == Names{"out"});
    }

    TEST_CASE("a folder of an earlier run is replaced, with nothing left of it") {
        const Scratch scratch;
        for (const char* name : {"09_context.npy", "01_x.npy"}) {
            OutputFolder folder((scratch / "out").string() + "/");
            write_file(folder.file(name), name);
            folder.commit();
        }
        CHECK(names_in(scratch / "out") == Names{"01_x.npy"});
        CHECK(names_in(scratch.path()) == Names{"out"});
    }

    TEST_CASE("a folder with anything else in it is left alone") {
        const Scratch scratch;
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

    TEST_CASE("what a signal handler removes is the temporary and nothing else") {
        const Scratch scratch;
        const pid_t child = ::fork();
        if (child == 0) {
            OutputFolder folder(scratch / "out");
            write_file(folder.file("01_x.npy"), "1");
            remove_pending_files();
            remove_pending_folder();
            ::_exit(0);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        CHECK(names_in(scratch.path()).empty());
    }
}

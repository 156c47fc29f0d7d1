#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <set>

#include "attn/files/io/output_files.hpp"
#include "attn/ground/tensor/error.hpp"
#include "tests/files/io/scratch.hpp"
#include "tests/support/program.hpp"
#include "tests/support/refusal.hpp"

using namespace attn;
using program::names_in;
using program::read_file;

namespace {

using Names = std::set<std::string>;

// Files in two folders with the same text, some of which exist already.
constexpr int count = 40;
std::string path_of(const ScratchFolder& scratch, int number) {
    return scratch / (number % 2 == 0 ? "sheets" : "keys") / std::to_string(number);
}
void make_folders(const ScratchFolder& scratch) {
    std::filesystem::create_directory(scratch / "sheets");
    std::filesystem::create_directory(scratch / "keys");
    for (int i = 0; i < count; i += 3) write_file(path_of(scratch, i), "old");
    write_file(scratch / "sheets" / "mine", "mine");
}
void fill(OutputSet& set, const ScratchFolder& scratch, const std::string& text) {
    for (int i = 0; i < count; ++i) write_file(set.file(path_of(scratch, i)), text);
}

}  // namespace

TEST_SUITE("output_set") {
    TEST_CASE("no file has changed before commit, and all have after it") {
        const ScratchFolder scratch;
        make_folders(scratch);
        const Names before = names_in(scratch / "keys");
        {
            OutputSet set;
            fill(set, scratch, "lost");
            CHECK(read_file(path_of(scratch, 0)) == "old");
        }
        CHECK(names_in(scratch / "keys") == before);
        OutputSet set;
        fill(set, scratch, "new");
        std::filesystem::permissions(path_of(scratch, 3), std::filesystem::perms(0640));
        set.commit();
        for (int i = 0; i < count; ++i) CHECK(read_file(path_of(scratch, i)) == "new");
        CHECK(names_in(scratch / "keys").size() == count / 2);
        CHECK(names_in(scratch / "sheets").size() == count / 2 + 1);
        CHECK(read_file(scratch / "sheets" / "mine") == "mine");
        CHECK(std::filesystem::status(path_of(scratch, 3)).permissions() ==
              std::filesystem::perms(0640));
    }

    TEST_CASE("if a file cannot be renamed, the others are restored") {
        const ScratchFolder scratch;
        make_folders(scratch);
        OutputSet set;
        fill(set, scratch, "new");
        const std::string last = path_of(scratch, count - 1);
        std::filesystem::remove(last);
        std::filesystem::create_directory(last);
        write_file(last + "/kept", "mine");
        const std::string reported = refusal<OutputError>([&] { set.commit(); });
        CHECK_MESSAGE(reported.find("cannot rename the finished file to it") != reported.npos,
                      reported);
        CHECK(reported.find(".part") == reported.npos);
        CHECK(read_file(path_of(scratch, 0)) == "old");
        CHECK_FALSE(std::filesystem::exists(path_of(scratch, 2)));
        CHECK(read_file(last + "/kept") == "mine");
    }

    TEST_CASE("a signal leaves nothing of a set, not even with many files") {
        const ScratchFolder scratch;
        const pid_t child = ::fork();
        if (child == 0) {
            OutputSet set;
            for (int i = 0; i < 500; ++i) write_file(set.file(scratch / std::to_string(i)), "x");
            remove_pending();
            ::_exit(0);
        }
        int status = 0;
        ::waitpid(child, &status, 0);
        CHECK(names_in(scratch.path()).empty());
    }

    TEST_CASE("programs that write one set at once leave the set of one of them") {
        const ScratchFolder scratch;
        make_folders(scratch);
        for (int round = 0; round < 5; ++round) {
            for (const char* text : {"a", "b", "c", "d"}) {
                if (::fork() != 0) continue;
                OutputSet set;
                fill(set, scratch, text);
                set.commit();
                ::_exit(0);
            }
            int status = 0;
            for (int i = 0; i < 4; ++i) {
                ::wait(&status);
                CHECK(status == 0);
            }
            const std::string first = read_file(path_of(scratch, 0));
            CHECK(first.size() == 1);
            for (int i = 0; i < count; ++i) CHECK(read_file(path_of(scratch, i)) == first);
        }
        CHECK(names_in(scratch.path()) == Names{"keys", "sheets"});
    }

    TEST_CASE("a signal comes before the first file is renamed, or after the last") {
        const ScratchFolder scratch;
        make_folders(scratch);
        for (int moment = 0; moment < 30; ++moment) {
            const std::string start = std::to_string(moment) + " ";
            const pid_t child = ::fork();
            if (child == 0) {
                std::signal(SIGTERM, [](int) {
                    remove_pending();
                    ::_exit(1);
                });
                for (int round = 0;; ++round) {
                    OutputSet set;
                    fill(set, scratch, start + std::to_string(round));
                    set.commit();
                }
            }
            while (!read_file(path_of(scratch, 0)).starts_with(start)) ::usleep(100);
            ::usleep(371 * static_cast<unsigned>(moment));
            ::kill(child, SIGTERM);
            int status = 0;
            ::waitpid(child, &status, 0);
            CHECK(WEXITSTATUS(status) == 1);
            const std::string first = read_file(path_of(scratch, 0));
            for (int i = 0; i < count; ++i) CHECK(read_file(path_of(scratch, i)) == first);
            CHECK(names_in(scratch / "keys").size() == count / 2);
        }
    }

    TEST_CASE("messages name the file as the user did") {
        const ScratchFolder scratch;
        std::filesystem::create_directory(scratch / "taken");
        OutputSet set;
        const std::string folder = scratch / "taken";
        CHECK(refusal<OutputError>([&] { set.file(folder); }).starts_with(folder + ": "));
        OutputFolder whole(scratch / "out");
        const std::string reported =
            refusal<OutputError>([&] { write_file(whole.file("no/such.npy"), "x"); });
        CHECK_MESSAGE(reported.starts_with((scratch / "out").string() + "/no/such.npy: "),
                      reported);
    }
}

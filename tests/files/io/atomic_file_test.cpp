#include "attn/files/io/output_files.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "attn/ground/tensor/error.hpp"
#include "tests/files/io/scratch.hpp"
#include "tests/support/refusal.hpp"

using namespace attn;
namespace fs = std::filesystem;

namespace {

std::string content(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::size_t files_in(const fs::path& folder) {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

mode_t permissions(const fs::path& path) {
    struct stat status {};
    REQUIRE(::stat(path.c_str(), &status) == 0);
    return status.st_mode & 07777U;
}

// Limits the size of files for one scope: the system then refuses to write, as on a full disk.
class SizeLimit {
public:
    explicit SizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        rlimit limit = before_;
        limit.rlim_cur = bytes;
        ::setrlimit(RLIMIT_FSIZE, &limit);
    }
    ~SizeLimit() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }
    SizeLimit(const SizeLimit&) = delete;
    SizeLimit& operator=(const SizeLimit&) = delete;

private:
    rlimit before_{};
    void (*handler_)(int);
};

}  // namespace

TEST_SUITE("atomic file") {
    TEST_CASE("the target contains the old content until commit and the new one after") {
        const ScratchFolder scratch;
        const fs::path target = scratch / "out.txt";
        write_file(target, "old");
        OutputFile file(target);
        file.write("new");
        CHECK(content(target) == "old");
        file.commit();
        CHECK(content(target) == "new");
        CHECK(files_in(scratch.path()) == 1);
    }

    TEST_CASE("without commit no file is left") {
        const ScratchFolder scratch;
        {
            OutputFile file(scratch / "out.txt");
            file.write(std::string(200'000, 'x'));
            CHECK(files_in(scratch.path()) == 1);
        }
        CHECK(files_in(scratch.path()) == 0);
    }

    TEST_CASE("small and large pieces keep their order") {
        const ScratchFolder scratch;
        std::string expected;
        OutputFile file(scratch / "out.txt");
        for (std::size_t size : {1U, 65'535U, 1U, 65'536U, 0U, 200'000U, 3U, 65'535U, 65'537U}) {
            const std::string piece(size, static_cast<char>('a' + expected.size() % 26));
            file.write(piece);
            expected += piece;
        }
        file.commit();
        CHECK(content(scratch / "out.txt") == expected);
    }

    TEST_CASE("a new file gets the permissions of the umask, an old one keeps its own") {
        const ScratchFolder scratch;
        const mode_t before = ::umask(027);
        write_file(scratch / "new.txt", "x");
        ::umask(before);
        CHECK(permissions(scratch / "new.txt") == 0640);

        REQUIRE(::chmod((scratch / "new.txt").c_str(), 0604) == 0);
        write_file(scratch / "new.txt", "y");
        CHECK(permissions(scratch / "new.txt") == 0604);
    }

    TEST_CASE("a symbolic link stays a link, and its target is replaced") {
        const ScratchFolder scratch;
        fs::create_directory(scratch / "real");
        write_file(scratch / "real/file.txt", "old");
        fs::create_symlink("real/file.txt", scratch / "link.txt");
        write_file(scratch / "link.txt", "new");
        CHECK(fs::is_symlink(scratch / "link.txt"));
        CHECK(content(scratch / "real/file.txt") == "new");

        fs::create_symlink("real/absent.txt", scratch / "dangling.txt");
        write_file(scratch / "dangling.txt", "made");
        CHECK(content(scratch / "real/absent.txt") == "made");

        fs::create_symlink("circle", scratch / "circle");
        CHECK_THROWS_AS(OutputFile{scratch / "circle"}, OutputError);
    }

    TEST_CASE("a device is written directly, and a full one is reported") {
        write_file("/dev/null", "x");
        const std::string message = refusal<OutputError>([] { write_file("/dev/full", "x"); });
        CHECK(message.starts_with("/dev/full: cannot write: No space left on device"));
    }

    TEST_CASE("a fifo is written directly") {
        const ScratchFolder scratch;
        const fs::path fifo = scratch / "fifo";
        REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
        const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK);
        REQUIRE(reader >= 0);
        write_file(fifo, "through");
        char text[16] = {};
        CHECK(::read(reader, text, sizeof(text)) == 7);
        CHECK(std::string(text) == "through");
        ::close(reader);
    }

    TEST_CASE("a descriptor's name appends at the descriptor's position") {
        const ScratchFolder scratch;
        write_file(scratch / "log.txt", "before ");
        const int log = ::open((scratch / "log.txt").c_str(), O_WRONLY | O_APPEND);
        REQUIRE(log >= 0);
        write_file("/dev/fd/" + std::to_string(log), "after");
        CHECK(content(scratch / "log.txt") == "before after");
        ::close(log);
    }

    TEST_CASE("a disk that fills up leaves the old file and no temporary") {
        const ScratchFolder scratch;
        write_file(scratch / "out.txt", "old");
        const SizeLimit limit(100'000);
        const std::string message = refusal<OutputError>(
            [&] { write_file(scratch / "out.txt", std::string(200'000, 'x')); });
        CHECK(message.find("out.txt: cannot write: File too large: make room") != message.npos);
        CHECK(content(scratch / "out.txt") == "old");
        CHECK(files_in(scratch.path()) == 1);
    }

    TEST_CASE("paths that cannot be written are named with the reason") {
        const ScratchFolder scratch;
        const std::string folder = scratch.path();
        CHECK(refusal<OutputError>([&] { OutputFile{folder}; }) ==
              folder + ": cannot write: Is a directory: name a file in it");
        CHECK(refusal<OutputError>([&] { OutputFile{folder + "/no/out.txt"}; }) ==
              folder +
                  "/no/out.txt: cannot create a temporary file beside it: "
                  "No such file or directory: create its folder first");
        CHECK_THROWS_AS(OutputFile{""}, OutputError);
        CHECK_THROWS_AS(OutputFile{folder + "/"}, OutputError);
        CHECK_THROWS_AS(OutputFile{std::string(5000, 'x')}, OutputError);
    }

    TEST_CASE("a name of the maximum length of the system can be written") {
        const ScratchFolder scratch;
        write_file(scratch / std::string(255, 'n'), "x");
        CHECK(content(scratch / std::string(255, 'n')) == "x");
    }

    TEST_CASE("a signal handler can remove pending files and nothing else") {
        const ScratchFolder scratch;
        write_file(scratch / "done.txt", "x");
        OutputFile first(scratch / "first.txt");
        OutputFile second(scratch / "second.txt");
        CHECK(files_in(scratch.path()) == 3);
        remove_pending();
        CHECK(files_in(scratch.path()) == 1);
        CHECK(content(scratch / "done.txt") == "x");
    }

    TEST_CASE("files can be written one after another without limit") {
        const ScratchFolder scratch;
        for (int i = 0; i < 100; ++i) {
            write_file(scratch / "kept.txt", "x");
            OutputFile dropped(scratch / "dropped.txt");
        }
        CHECK(files_in(scratch.path()) == 1);
    }
}

// --kv-heads, --past, --prefill and --sink as a user types them.
#include "tests/support/program.hpp"

using namespace program;

TEST_SUITE("app: cache") {
    TEST_CASE("a flag that does not fit is refused in one line with the change to make") {
        const program::Folder folder;
        check_refused("--position-bias " + (folder / "missing:bias"), "missing: cannot be read");
    }

    TEST_CASE(
        "the cache of one walk is the past of the next, which computes the rows of the whole "
        "walk") {
        const Folder folder;
        const std::string whole = folder / "whole.npz";
        const std::string flags =
            " --heads 2 --mask causal --rope half --output-projection --variant loop";
        REQUIRE(run("--seq-len 6" + flags + " -o " + whole).exit_code == 0);
        const auto part = [&](const std::string& rows, const std::string& more,
                              const std::string& out) {
            const std::string x = folder / "x.npy";
            REQUIRE(run("--seq-len 6" + flags + " --only 'x[" + rows + "]' -o " + x).exit_code ==
                    0);
            const Result result =
                run("--x " + x + flags + more + " --weights " + whole + " " + out);
            REQUIRE_MESSAGE(result.exit_code == 0, result.err);
            return result.out;
        };
        part("0:2", "", "-o " + (folder / "first.npz"));
        part("2:4", " --past " + (folder / "first.npz"), "-o " + (folder / "second.npz"));
        const std::string last =
            part("4:6", " --past " + (folder / "second.npz"), "--only output -q");
        CHECK(last == run("--seq-len 6" + flags + " --only 'output[4:6]' -q").out);
    }

    TEST_CASE("prefill prints the chunks next to the whole walk") {
        const program::Folder folder;
        const std::string bias = folder / "bias.csv";
        std::ofstream(bias) << "1,2,0\n3,4,1\n0,2,9\n";
        CHECK(run("--seq-len 3 --mask causal --prefill 2 --variant loop --only context "
                  "--position-bias " +
                  bias)
                  .out.find("row is the same, bit for bit") != std::string::npos);
        const Result result =
            run("--seq-len 6 --prefill 4 --mask causal --variant loop --only context");
        CHECK(result.out.find("Chunk 0 is rows 0 to 3, chunk 1") != std::string::npos);
        CHECK(result.out.find("bit for bit") != std::string::npos);
        const auto note_with = [](const std::string& mistake) {
            return run("--seq-len 6 --heads 2 --embed-dim 8 --prefill 4 --mask causal --bug " +
                       mistake)
                       .out.find("Chunk 0 is rows 0 to 3") != std::string::npos;
        };
        CHECK(note_with("merge-reshape"));  // computed after the context
        CHECK_FALSE(note_with("scale-missing"));
        CHECK_FALSE(note_with("k-dot-k"));
    }

    TEST_CASE("a user's sink is read from a file, and its length is checked") {
        const Folder folder;
        const std::string sink = folder / "sinks.csv";
        std::ofstream(sink) << "0.5,-1\n";
        const Result result = run("--heads 2 --sink " + sink + " --only sink -q");
        CHECK(result.out == "tensor([ 0.5000, -1.0000])\n");
        check_refused("--heads 4 --sink " + sink, "sink");
    }
}

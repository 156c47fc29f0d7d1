#include "attn/ground/text/text_pieces.hpp"

#include <algorithm>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include "attn/show/render/numpy_text.hpp"
#include "attn/show/render/plain_text.hpp"
#include "attn/show/render/render.hpp"
#include "attn/show/render/torch_text.hpp"

using namespace attn;

namespace {

/// An output that records the whole text and the length of the longest piece.
struct Recorder {
    std::string text{};
    std::size_t longest = 0;
    std::size_t pieces = 0;
    Sink sink = [this](std::string_view piece) {
        text += piece;
        longest = std::max(longest, piece.size());
        ++pieces;
    };
};

void check_pieces(const Recorder& recorder, std::size_t at_least) {
    CHECK(recorder.longest <= TextPieces::piece_size);
    CHECK(recorder.pieces >= at_least);
}

Tensor large_tensor(std::size_t rows, std::size_t columns) {
    std::mt19937 generator(5);
    std::normal_distribution<float> normal;
    Array<float> array = empty_array<float>({rows, columns});
    for (float& value : array) value = normal(generator);
    return {{"query", "key"}, std::move(array)};
}

Document document_with(const Tensor& tensor) {
    Document document;
    document.sections.push_back({"x", "title", "", "a note", "", "x", tensor, "", true, "", {}});
    return document;
}

}  // namespace

TEST_SUITE("render: text pieces") {
    TEST_CASE("output arrives in order and complete") {
        Recorder recorder;
        TextPieces pieces(recorder.sink);
        std::string expected;
        for (std::size_t i = 0; i < 100'000; ++i) {
            const std::string word = std::to_string(i * i) + " ";
            pieces << word << '\n';
            pieces.repeat(i % 5, '-');
            expected += word + "\n" + std::string(i % 5, '-');
        }
        CHECK(pieces.size() == expected.size());
        pieces.flush();
        CHECK(recorder.text == expected);
        check_pieces(recorder, expected.size() / TextPieces::piece_size);
    }

    TEST_CASE("trailing spaces can be removed even if a piece ends after them") {
        for (const std::size_t blanks : {0, 1, 7, 1000}) {
            Recorder recorder;
            TextPieces pieces(recorder.sink);
            const std::string text(TextPieces::piece_size - blanks / 2, 'x');
            pieces << text;
            pieces.repeat(blanks, ' ');
            CHECK(recorder.pieces == (blanks > 0 ? 1 : 0));
            pieces.drop_blanks();
            pieces << '\n';
            pieces.flush();
            CHECK(recorder.text == text + "\n");
        }
    }

    TEST_CASE("spaces alone may be longer than a piece") {
        Recorder recorder;
        TextPieces pieces(recorder.sink);
        pieces.repeat(3 * TextPieces::piece_size, ' ');
        pieces << 'y';
        pieces.flush();
        CHECK(recorder.text == std::string(3 * TextPieces::piece_size, ' ') + 'y');
    }

    TEST_CASE("a text longer than a piece comes in several") {
        Recorder recorder;
        TextPieces pieces(recorder.sink);
        const std::string text(5 * TextPieces::piece_size + 3, 'z');
        pieces << text;
        pieces.flush();
        CHECK(recorder.text == text);
        check_pieces(recorder, 5);
    }
}

TEST_SUITE("render: streaming") {
    TEST_CASE("a tensor of any size is written in pieces that make up the whole text") {
        const PrintOptions options{.threshold = no_threshold, .linewidth = 1'000'000'000};
        const PrintOptions usual{.threshold = no_threshold};
        for (const Tensor& tensor : {large_tensor(2, 60'000), large_tensor(2'000, 60)}) {
            for (const PrintOptions& each : {options, usual}) {
                Recorder torch;
                TextPieces torch_pieces(torch.sink);
                write_torch_text(torch_pieces, tensor, each, "requires_grad=True");
                torch_pieces.flush();
                CHECK(torch.text == torch_text(tensor, each, "requires_grad=True"));
                check_pieces(torch, 3);

                Recorder numpy;
                TextPieces numpy_pieces(numpy.sink);
                write_numpy_str(numpy_pieces, tensor, each);
                numpy_pieces.flush();
                CHECK(numpy.text == numpy_str(tensor, each));
                check_pieces(numpy, 3);
            }
            Recorder plain;
            TextPieces plain_pieces(plain.sink);
            write_plain_text(plain_pieces, tensor);
            plain_pieces.flush();
            CHECK(plain.text == plain_text(tensor));
            check_pieces(plain, 3);
        }
    }

    TEST_CASE("a long line is the same as short ones except for its breaks") {
        const Tensor row = large_tensor(1, 100'000);
        PrintOptions options{.precision = 4, .threshold = no_threshold};
        options.linewidth = 1'000'000'000;
        const std::string whole = numpy_str(row, options);
        options.linewidth = 75;
        std::string lines = numpy_str(row, options);
        CHECK(lines.find(" \n") == lines.npos);
        CHECK(whole.find('\n') == whole.npos);
        const auto without_blanks = [](std::string text) {
            std::erase_if(text, [](char letter) { return letter == ' ' || letter == '\n'; });
            return text;
        };
        CHECK(without_blanks(lines) == without_blanks(whole));
    }

    TEST_CASE("every renderer sends pieces of bounded size") {
        const Document document = document_with(large_tensor(300, 500));
        const PrintOptions options{.threshold = no_threshold};
        for (const TextForm form : {TextForm::torch, TextForm::numpy, TextForm::plain}) {
            Recorder text;
            render_text(document, form, options, Words::all, text.sink);
            check_pieces(text, 4);
            Recorder markdown;
            render_markdown(document, form, options, Words::all, markdown.sink);
            check_pieces(markdown, 4);
            CHECK(markdown.text.size() > text.text.size());
        }
        Recorder json;
        render_json(document, json.sink);
        check_pieces(json, 4);
    }
}

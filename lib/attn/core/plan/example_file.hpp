#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "attn/ground/tensor/error.hpp"
#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// A table of an example: x or a parameter, with a name for each row and each column.
struct ExampleTable {
    std::string name;
    std::vector<std::string> rows, columns;
    Tensor numbers;  ///< float64; a bias loses its single row
    std::size_t line = 0;
};

/// A claim of the example: the key that a query attends to most.
struct ExampleLook {
    std::string query, key;
    std::size_t head = 0;
};

/// A walk whose features have names and whose numbers were set by hand.
struct ExampleFile {
    std::string label, text;
    std::string name, title;
    std::string begins{};  ///< flags of the walk, as typed
    std::size_t begins_line = 0;
    std::vector<ExampleLook> looks{};
    std::vector<ExampleTable> tables{};

    const ExampleTable* find(std::string_view table) const;
    /// Calls `make`; adds the file and the line to the message of an exception.
    auto at(std::size_t line, const auto& make) const {
        try {
            return make();
        } catch (const Error& error) {
            refuse(line, error.what());
        }
    }
    /// Errors  InputError, always: names the file and the line.
    [[noreturn]] void refuse(std::size_t line, const std::string& what) const;
};

/// Reads an example (data/examples/README.md). `label` names it in messages.
///
/// Errors  InputError naming the line, and the remedy.
ExampleFile parse_example(const std::string& text, const std::string& label);

/// Returns the text of an example that the program has; empty for another name.
std::string shipped_example(std::string_view name);
std::vector<std::string> shipped_example_names();

}  // namespace attn

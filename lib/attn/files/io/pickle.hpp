#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attn/files/io/elements.hpp"

namespace attn {

/// Advice on a pickle that cannot be read.
inline constexpr const char* pickle_advice =
    "save a dictionary of tensors with torch.save, or all as .safetensors";

/// A value created by a pickle, of the kinds used here. Values refer to each other by index, so
/// that one that contains itself is harmless.
struct PickleValue {
    enum class PickleType {
        other,
        integer,
        text,
        name,
        mark,
        tuple,
        list,
        dictionary,
        storage,
        tensor
    };
    PickleType value_type = PickleType::other;
    std::int64_t integer = 0;
    std::string text;                // text, the name of a class or function, the key of a storage
    std::vector<std::size_t> items;  // a dictionary: key, value, key, ...; a storage: its class;
                                     // a tensor: storage, offset, shape, strides, ...
};

/// Reads the instructions of a torch.save pickle without running any code: the only names allowed
/// are those of tensors, parameters, their storages and ordered dictionaries.
///
/// Errors  InputError, starting with `label`: any other name or instruction, damaged bytes.
/// Source  Python's pickletools.
class Pickle {
public:
    Pickle(std::string_view bytes, const std::string& label);

    /// The result of the pickle.
    const PickleValue& result() const { return values_[result_]; }
    const PickleValue& operator[](std::size_t number) const { return values_[number]; }

private:
    std::vector<PickleValue> values_;
    std::size_t result_ = 0;
};

}  // namespace attn

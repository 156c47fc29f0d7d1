#pragma once
#include <algorithm>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "attn/ground/tensor/tensor.hpp"

namespace attn {

/// A pool of reusable row buffers.
template <class T>
class RowPool {
public:
    /// A buffer, returned to the pool at the end of its scope.
    class Row {
    public:
        Row(RowPool& pool, std::size_t count) : pool_(pool) {
            if (pool.spare_.empty()) pool.spare_.emplace_back();
            cells_ = std::move(pool.spare_.back());
            pool.spare_.pop_back();
            if (cells_.size() < count) cells_.resize(count);
        }
        ~Row() { pool_.spare_.push_back(std::move(cells_)); }
        Row(const Row&) = delete;
        Row& operator=(const Row&) = delete;
        T* data() { return cells_.data(); }
        T& operator[](std::size_t r) { return cells_[r]; }

    private:
        RowPool& pool_;
        std::vector<T> cells_;
    };

private:
    std::vector<std::vector<T>> spare_;
};

/// The numbers of tensors in the dtype of the walk, converted once if necessary.
template <class T>
class TypedCells {
public:
    const Array<T>& of(const Tensor& tensor) {
        if (const auto* own = std::get_if<Array<T>>(&tensor.values())) return *own;
        Array<T>& cells = converted_[&tensor];
        if (cells.size() == tensor.size() && cells.size() > 0) return cells;
        cells = empty_array<T>(tensor.shape());
        std::visit(
            [&](const auto& given) {
                std::transform(given.begin(), given.end(), cells.data(),
                               [](auto number) { return static_cast<T>(number); });
            },
            tensor.values());
        return cells;
    }

private:
    std::map<const Tensor*, Array<T>> converted_;
};

}  // namespace attn

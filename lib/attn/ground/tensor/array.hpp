#pragma once
#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace attn {

/// Requests large pages from the system for large memory that was not touched yet: allocating a
/// page costs more than filling it, and there would be 512 times as many small ones. Small memory
/// is left alone.
void prefer_large_pages(void* memory, std::size_t bytes);

using Shape = std::vector<std::size_t>;

/// Returns the number of elements of a shape. The empty shape is a scalar, with one element.
std::size_t element_count(const Shape& shape);
/// Returns the number of elements as a double, for a shape whose number may overflow.
double cell_count(const Shape& shape);

/// Returns the row-major index of the element at `indices`, which has one index per axis.
std::size_t flat_index(const std::vector<std::size_t>& indices, const Shape& shape);

/// Formats a shape for a message: `(2, 4, 3)`.
std::string shape_text(const Shape& shape);

/// A dense array in row-major order: a shape and its numbers. xtensor reads it through
/// attn/ground/tensor/xtensor.hpp, which only files with whole-array computations include.
template <class T>
class Array {
public:
    using value_type = T;

    /// Constructs an array with one axis of no elements.
    Array() : shape_{0} {}
    /// Constructs a scalar: no axis, one element.
    explicit Array(T number) : Array(Shape{}) { *data() = number; }
    /// Constructs an array with one axis, or more with nested braces.
    Array(std::initializer_list<T> row) : Array(Shape{row.size()}) {
        std::copy(row.begin(), row.end(), data());
    }
    Array(std::initializer_list<std::initializer_list<T>> rows)
        : Array(stacked({rows.begin(), rows.end()})) {}
    Array(std::initializer_list<std::initializer_list<std::initializer_list<T>>> matrices)
        : Array(stacked({matrices.begin(), matrices.end()})) {}

    Array(const Array& other) : Array(other.shape_) { std::copy_n(other.data(), size_, data()); }
    Array(Array&& other) noexcept
        : shape_(std::move(other.shape_)),
          size_(std::exchange(other.size_, 0)),
          data_(std::move(other.data_)) {}
    Array& operator=(Array other) noexcept {
        shape_.swap(other.shape_);
        std::swap(size_, other.size_);
        data_.swap(other.data_);
        return *this;
    }
    ~Array() = default;

    /// Returns an uninitialised array of `shape`.
    static Array from_shape(Shape shape) { return Array(std::move(shape)); }
    /// Returns an array of `shape` with the same number everywhere.
    static Array filled(Shape shape, T number) {
        Array array(std::move(shape));
        std::fill_n(array.data(), array.size(), number);
        return array;
    }

    T* data() { return data_.get(); }
    const T* data() const { return data_.get(); }
    std::size_t size() const { return size_; }
    const Shape& shape() const { return shape_; }
    std::size_t shape(std::size_t axis) const { return shape_[axis]; }
    std::size_t dimension() const { return shape_.size(); }

    T* begin() { return data(); }
    T* end() { return data() + size_; }
    const T* begin() const { return data(); }
    const T* end() const { return data() + size_; }

    /// Returns the element at these indices, one per axis.
    template <class... Index>
    T& operator()(Index... indices) {
        return data()[place(indices...)];
    }
    template <class... Index>
    const T& operator()(Index... indices) const {
        return data()[place(indices...)];
    }

    void fill(T number) { std::fill_n(data(), size_, number); }
    /// Changes the shape to another one with the same number of elements.
    void reshape(Shape shape) { shape_ = std::move(shape); }

    friend bool operator==(const Array& a, const Array& b) {
        return a.shape_ == b.shape_ && std::equal(a.begin(), a.end(), b.begin());
    }

private:
    explicit Array(Shape shape)
        : shape_(std::move(shape)),
          size_(element_count(shape_)),
          data_(std::make_unique_for_overwrite<T[]>(size_)) {
        prefer_large_pages(data_.get(), size_ * sizeof(T));
    }

    static Array stacked(const std::vector<Array>& parts) {
        Shape shape = parts.front().shape_;
        shape.insert(shape.begin(), parts.size());
        Array all(std::move(shape));
        T* end = all.data();
        for (const Array& part : parts) end = std::copy(part.begin(), part.end(), end);
        return all;
    }

    template <class... Index>
    std::size_t place(Index... indices) const {
        std::size_t flat = 0;
        std::size_t axis = 0;
        ((flat = flat * shape_[axis++] + static_cast<std::size_t>(indices)), ...);
        return flat;
    }

    Shape shape_;
    std::size_t size_ = 0;
    std::unique_ptr<T[]> data_;
};

/// Returns an uninitialised array of `shape`.
template <class T>
Array<T> empty_array(const Shape& shape) {
    return Array<T>::from_shape(shape);
}

template <class T>
const Shape& shape_of(const Array<T>& array) {
    return array.shape();
}

}  // namespace attn

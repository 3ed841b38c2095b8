//! Divides tasks among the elements of an array.

/// The number of tasks per element, and of elements, for `tasks` tasks and `size` tasks per element. If an array would
/// have more than `most` elements, an element gets more tasks.
pub(super) fn elements(tasks: usize, size: usize, most: usize) -> (usize, usize) {
    let size = size.max(1).max(tasks.div_ceil(most.max(1)));
    (size, tasks.div_ceil(size))
}

#[cfg(test)]
mod tests {
    use super::elements;

    #[test]
    fn an_array_is_never_too_large() {
        assert_eq!(elements(10, 1, 1001), (1, 10));
        assert_eq!(elements(10, 4, 1001), (4, 3));
        assert_eq!(elements(10, 40, 1001), (40, 1));
        assert_eq!(elements(1001, 1, 1001), (1, 1001));
        assert_eq!(elements(1002, 1, 1001), (2, 501));
        assert_eq!(elements(10_000, 3, 1001), (10, 1000));
        for most in 1..40 {
            for tasks in 1..200 {
                let (size, count) = elements(tasks, 3, most);
                assert!(count <= most && size * count >= tasks && size * (count - 1) < tasks);
            }
        }
    }
}

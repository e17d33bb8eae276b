//! Medians, of whole numbers.

/// The median; of an even number of values the lower one of the two in the middle. Nothing of nothing.
pub(crate) fn median(values: impl IntoIterator<Item = u64>) -> Option<u64> {
    let mut values: Vec<u64> = values.into_iter().collect();
    values.sort_unstable();
    let middle = values.len().checked_sub(1)? / 2;
    Some(values[middle])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_values_in_any_order() {
        assert_eq!(median([]), None);
        assert_eq!(median([7]), Some(7));
        assert_eq!(median([9, 1, 5]), Some(5));
        assert_eq!(median([4, 1, 9, 5]), Some(4));
    }
}

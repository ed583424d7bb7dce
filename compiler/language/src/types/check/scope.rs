//! Names in the order of their definition, found in constant time however many there are.

use std::collections::HashMap;

/// Definitions, the latest last. The map is never iterated, so its order affects no output.
#[derive(Clone, Debug)]
pub(super) struct Scope<T> {
    all: Vec<(String, T)>,
    /// By name its places, the latest last; never empty.
    places: HashMap<String, Vec<usize>>,
}

impl<T> Default for Scope<T> {
    fn default() -> Self {
        Scope { all: Vec::new(), places: HashMap::new() }
    }
}

impl<T> Scope<T> {
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Defines a name, again if it has been.
    pub fn push(&mut self, name: &str, value: T) {
        self.places.entry(name.to_owned()).or_default().push(self.all.len());
        self.all.push((name.to_owned(), value));
    }

    /// The latest definition of a name.
    pub fn latest(&self, name: &str) -> Option<&T> {
        self.at(*self.places.get(name)?.last()?)
    }

    pub fn earliest(&self, name: &str) -> Option<&T> {
        self.at(*self.places.get(name)?.first()?)
    }

    fn at(&self, place: usize) -> Option<&T> {
        self.all.get(place).map(|(_, value)| value)
    }

    /// Forgets all but the first `len`.
    pub fn truncate(&mut self, len: usize) {
        for (name, _) in self.all.drain(len.min(self.all.len())..).rev() {
            if let Some(places) = self.places.get_mut(&name) {
                places.pop();
                if places.is_empty() {
                    self.places.remove(&name);
                }
            }
        }
    }

    /// All names, the earliest first.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.all.iter().map(|(name, _)| name.as_str())
    }

    /// Forgets what a condition does not keep.
    pub fn retain(&mut self, mut keep: impl FnMut(&str) -> bool) {
        let all = std::mem::take(self);
        for (name, value) in all.all {
            if keep(&name) {
                self.push(&name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_of_equal_names_hides_the_others_until_it_is_forgotten() {
        let mut scope = Scope::default();
        ["a", "b", "a", "c"].into_iter().zip(0..).for_each(|(name, n)| scope.push(name, n));
        assert_eq!((scope.latest("a"), scope.earliest("a"), scope.len()), (Some(&2), Some(&0), 4));
        scope.truncate(2);
        assert_eq!((scope.latest("a"), scope.latest("c")), (Some(&0), None));
        scope.push("c", 9);
        scope.retain(|name| name != "a");
        assert_eq!(
            (scope.latest("a"), scope.latest("b"), scope.latest("c")),
            (None, Some(&1), Some(&9))
        );
        assert_eq!(scope.names().collect::<Vec<_>>(), ["b", "c"]);
    }
}

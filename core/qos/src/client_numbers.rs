//! Client keys of any kind: a scheduler knows numbers, and a caller has addresses, names or tuples.
//!
//! A scheduler that was generic over the key would have to keep one in each idle record, whose 128 bytes have room for a number,
//! and would hand its type on to everything that holds a scheduler. Nothing would be faster: keys are looked up when flows are
//! opened, here as there.

use crate::ClientKey;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Numbers for keys, given out when a key is first seen and free again when it is forgotten.
#[derive(Clone, Debug)]
pub struct ClientNumbers<K> {
    numbers: BTreeMap<K, ClientKey>,
    keys: Vec<Option<K>>,
    free: Vec<ClientKey>,
}

impl<K: Ord + Clone> ClientNumbers<K> {
    /// No clients.
    pub const fn new() -> ClientNumbers<K> {
        ClientNumbers { numbers: BTreeMap::new(), keys: Vec::new(), free: Vec::new() }
    }

    /// The number of a client, to open its flow with.
    pub fn number(&mut self, key: &K) -> ClientKey {
        if let Some(number) = self.numbers.get(key) {
            return *number;
        }
        let number = self.free.pop().unwrap_or_else(|| {
            self.keys.push(None);
            ClientKey(self.keys.len() as u64 - 1)
        });
        self.keys[number.0 as usize] = Some(key.clone());
        self.numbers.insert(key.clone(), number);
        number
    }

    /// Whose number it is.
    pub fn key(&self, number: ClientKey) -> Option<&K> {
        self.keys.get(usize::try_from(number.0).ok()?)?.as_ref()
    }

    /// Lets go of a client whose flows are closed: its number may be given to another.
    pub fn forget(&mut self, key: &K) {
        if let Some(number) = self.numbers.remove(key) {
            self.keys[number.0 as usize] = None;
            self.free.push(number);
        }
    }
}

impl<K: Ord + Clone> Default for ClientNumbers<K> {
    fn default() -> ClientNumbers<K> {
        ClientNumbers::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_one_clients_until_it_is_forgotten() {
        let mut clients = ClientNumbers::new();
        let (alice, bob) = (("10.0.0.1", 7), ("10.0.0.2", 7));
        let first = clients.number(&alice);
        let second = clients.number(&bob);
        assert_eq!(clients.number(&alice), first);
        assert_eq!((clients.key(first), clients.key(second)), (Some(&alice), Some(&bob)));
        clients.forget(&alice);
        assert_eq!(clients.key(first), None);
        assert_eq!(clients.number(&("10.0.0.3", 7)), first);
        assert_eq!(clients.number(&bob), second);
    }
}

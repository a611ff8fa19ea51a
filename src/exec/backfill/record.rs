//! How far a build has come, as it is stored: see `codec/FORMAT.md`, section 3.

use super::OnFailure;
use crate::catalog::IndexId;
use crate::codec::keyspace::SystemKey;
use crate::error::{Code, Error, Result};
use crate::kv::Key;

/// The version of the record.
const VERSION: u8 = 1;

/// What is stored of a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    /// What becomes of the index when the build fails.
    pub(super) on_failure: OnFailure,
    /// The first key of the table whose row may have no entry yet.
    pub(super) position: Key,
}

impl Record {
    pub(super) fn key(index: IndexId) -> Key {
        SystemKey::Build(index.0).encode()
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let flag = match self.on_failure {
            OnFailure::Drop => 0,
            OnFailure::Disable => 1,
        };
        let mut bytes = vec![VERSION, flag];
        bytes.extend_from_slice(&self.position);
        bytes
    }

    /// # Errors
    /// 1712 for bytes that [`Record::encode`] does not make.
    pub(super) fn decode(bytes: &[u8]) -> Result<Record> {
        let (on_failure, position) = match bytes {
            [VERSION, 0, position @ ..] => (OnFailure::Drop, position),
            [VERSION, 1, position @ ..] => (OnFailure::Disable, position),
            _ => {
                let text = "the record of an index build is damaged";
                return Err(Error::new(Code::StorageCorrupt, text));
            }
        };
        Ok(Record {
            on_failure,
            position: position.to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_and_others_are_damage() {
        for on_failure in [OnFailure::Drop, OnFailure::Disable] {
            for position in [vec![], vec![0x19, 7]] {
                let record = Record {
                    on_failure,
                    position,
                };
                assert_eq!(Record::decode(&record.encode()), Ok(record));
            }
        }
        for bytes in [&[][..], &[1], &[2, 0], &[1, 2, 0x19]] {
            let error = Record::decode(bytes).unwrap_err();
            assert_eq!(error.code(), Code::StorageCorrupt);
        }
    }
}

//! Files of tensors by name, as safetensors and as npz.

use super::elements::{Elements, Stored, elements};
use super::npz::Npz;
use safetensors::{SafeTensorError, SafeTensors};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use slvr_compiler::diagnostic::plain::name as shown;
use std::collections::BTreeSet;
use std::fmt::Formatter;
use std::path::{Path, PathBuf};

/// The files that are read, by the ends of their names; the first is the one that is written.
pub const ENDS: [&str; 2] = ["safetensors", "npz"];

pub enum File<'b> {
    Safetensors(SafeTensors<'b>),
    Npz(Npz<'b>),
}

pub trait Tensors {
    /// Their names, in order.
    fn names(&self) -> Vec<String>;
    /// The tensor of a name, if there is one; its elements if it has the wanted shape.
    fn get(&mut self, name: &str, wanted: &[u64]) -> Result<Option<Stored<'_>>, String>;
}

impl<'b> File<'b> {
    /// Reads the directory of a file, in the format that its name says.
    pub fn open(path: &Path, bytes: &'b [u8]) -> Result<Self, String> {
        if path.extension().is_some_and(|end| end == "npz") {
            return Npz::open(bytes).map(File::Npz);
        }
        if let Some(name) = twice(bytes) {
            return Err(format!("has two tensors of the name `{}`", shown(&name)));
        }
        let file = SafeTensors::deserialize(bytes);
        file.map(File::Safetensors).map_err(|e| damage(bytes, &e))
    }
}

impl Tensors for File<'_> {
    fn names(&self) -> Vec<String> {
        let mut names = match self {
            File::Safetensors(file) => file.names().into_iter().map(str::to_owned).collect(),
            File::Npz(file) => file.names(),
        };
        names.sort_unstable();
        names
    }

    fn get(&mut self, name: &str, wanted: &[u64]) -> Result<Option<Stored<'_>>, String> {
        match self {
            File::Npz(file) => file.get(name, wanted),
            File::Safetensors(file) => Ok(file.tensor(name).ok().map(|view| Stored {
                shape: view.shape().iter().map(|&d| d as u64).collect(),
                kind: format!("{:?}", view.dtype()),
                data: elements(view.dtype(), view.data()).map(Elements::from),
            })),
        }
    }
}

/// A name that the header of a safetensors file has twice: readers differ in which of the two they take.
fn twice(bytes: &[u8]) -> Option<String> {
    let (length, rest) = bytes.split_first_chunk()?;
    let header = rest.get(..usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
    let Names(twice) = serde_json::from_slice(header).ok()?;
    twice
}

/// The first key of an object that stands there again.
struct Names(Option<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Names;

            fn expecting(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Names, M::Error> {
                let (mut seen, mut twice) = (BTreeSet::new(), None);
                while let Some((name, _)) = map.next_entry::<String, IgnoredAny>()? {
                    if !seen.insert(name.clone()) {
                        twice.get_or_insert(name);
                    }
                }
                Ok(Names(twice))
            }
        }
        from.deserialize_map(Keys)
    }
}

/// The file of a giver, `FOLDER/STEM.safetensors` or `FOLDER/STEM.npz`: that which is there.
pub fn path_of(folder: &Path, stem: &str) -> Result<PathBuf, String> {
    let [first, other] = ENDS.map(|end| folder.join(format!("{stem}.{end}")));
    match (first.exists(), other.exists()) {
        (true, true) => Err(format!(
            "{}: there is {} too, and only one of them is read: remove the other",
            first.display(),
            shown(&other.display().to_string())
        )),
        (false, true) => Ok(other),
        (_, false) => Ok(first),
    }
}

/// What is wrong with bytes that do not read as safetensors: 8 bytes with the length of a JSON
/// header, the header, and the tensors that it describes without gaps.
fn damage(bytes: &[u8], e: &SafeTensorError) -> String {
    if bytes.starts_with(b"PK") || bytes.starts_with(b"\x93NUMPY") {
        return "a file of PyTorch or NumPy, not a safetensors file: save it with \
                safetensors.torch.save_file or safetensors.numpy.save_file"
            .into();
    }
    let Some((length, rest)) = bytes.split_first_chunk() else {
        return format!("not a safetensors file: it has {} bytes", bytes.len());
    };
    let (length, have) = (u64::from_le_bytes(*length), rest.len() as u64);
    if length > have {
        return format!(
            "cut short, or not a safetensors file: it announces a header of {length} bytes, {have} follow"
        );
    }
    if !matches!(e, SafeTensorError::MetadataIncompleteBuffer) {
        return format!("not a safetensors file: {e}");
    }
    let header = rest.get(..length as usize).unwrap_or_default();
    let header: serde_json::Value = serde_json::from_slice(header).unwrap_or_default();
    let ends = header.as_object().into_iter().flatten();
    let ends = ends.filter_map(|(_, t)| t.get("data_offsets")?.get(1)?.as_u64());
    let (wanted, have) = (ends.max().unwrap_or(0), have - length);
    let how = if have < wanted { "cut short" } else { "damaged" };
    format!("{how}: its header describes {wanted} bytes of tensors, {have} follow")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_stands_twice_is_found() {
        let file = |names: &[&str]| {
            let tensor = |(i, name): (usize, &&str)| {
                let (from, to) = (4 * i, 4 * i + 4);
                format!(r#""{name}":{{"dtype":"F32","shape":[1],"data_offsets":[{from},{to}]}}"#)
            };
            let all: Vec<String> = names.iter().enumerate().map(tensor).collect();
            let header = format!("{{{}}}", all.join(","));
            let mut out = (header.len() as u64).to_le_bytes().to_vec();
            out.extend(header.as_bytes());
            out.resize(out.len() + 4 * names.len(), 0);
            out
        };
        assert_eq!(twice(&file(&["x", "y", "x", "y"])), Some("x".into()));
        assert_eq!(twice(&file(&["x", "y"])), None);
        let open = |bytes: &[u8]| File::open(Path::new("a.safetensors"), bytes).map(|f| f.names());
        assert_eq!(open(&file(&["x", "y"])), Ok(vec!["x".into(), "y".into()]));
        assert_eq!(open(&file(&["w", "w"])), Err("has two tensors of the name `w`".into()));
        for bytes in [&b""[..], b"12345678", b"\xff\xff\xff\xff\xff\xff\xff\xff{}"] {
            assert_eq!(twice(bytes), None);
        }
    }
}

//! The parts of NICs that all kinds of fabric share: queues of messages, cutting messages into packets,
//! and answers to packets. Each fabric decides when a NIC sends.

mod answers;
mod messages;
mod queue_pairs;
mod unopened;
mod waiting;

pub(super) use self::answers::{Answering, Answers, Received};
pub(super) use self::messages::{DataPacket, MessageQueue, Messages};
pub(super) use self::queue_pairs::QueuePairs;
pub(super) use self::waiting::Place;

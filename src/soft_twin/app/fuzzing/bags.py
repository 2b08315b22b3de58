"""Bags as rosbag2 writes them: .db3 files, and folders with a metadata.yaml, broken, odd, or false."""

import sqlite3
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import yaml

from soft_twin.app.fuzzing.recordings import good_recording
from soft_twin.recording.storage import stored

TABLES = """
create table schema(schema_version integer primary key, ros_distro text not null);
create table metadata(id integer primary key, metadata_version integer not null, metadata text not null);
create table topics(id integer primary key, name text not null, type text not null,
    serialization_format text not null, offered_qos_profiles text not null, type_description_hash text not null);
create table message_definitions(id integer primary key, topic_type text not null, encoding text not null,
    encoded_message_definition text not null, type_description_hash text not null);
create table messages(id integer primary key, topic_id integer not null, timestamp integer not null,
    data blob not null);
insert into schema values(4, 'jazzy');
"""
ENDLESS = """
alter table messages rename to some;
create view messages as with recursive n(i) as (select 1 union all select i + 1 from n)
    select i as id, 1 as topic_id, i as timestamp, zeroblob(1000) as data from n;
"""
CHANGES = (
    "update topics set name = x'2f61ff' where id = {topic}",
    "update topics set name = 5 where id = {topic}",
    "update topics set name = '' where id = {topic}",
    "update topics set name = (select name from topics limit 1)",
    "update topics set type = x'00ff' where id = {topic}",
    "update topics set type = 'std_msgs/msg/Nothing' where id = {topic}",
    "update topics set type = '../../x' where id = {topic}",
    "update topics set serialization_format = 'json' where id = {topic}",
    "update topics set offered_qos_profiles = '[[[[' where id = {topic}",
    "update topics set id = -1 where id = {topic}",
    "update message_definitions set encoded_message_definition = x'ff' where id = {topic}",
    "update message_definitions set encoded_message_definition = 'Self x' where id = {topic}",
    "update message_definitions set encoding = 'ros2idl' where id = {topic}",
    "delete from message_definitions",
    "update messages set timestamp = 'noon' where id % {share} = 0",
    "update messages set timestamp = -timestamp where id % {share} = 0",
    "update messages set timestamp = 9223372036854775807 where id % {share} = 0",
    "update messages set timestamp = 1e300 where id % {share} = 0",
    "update messages set data = zeroblob(2000000) where id = {share}",
    "update messages set data = randomblob(60) where id % {share} = 0",
    "update messages set data = 'text' where id % {share} = 0",
    "update messages set data = 12 where id % {share} = 0",
    "update messages set topic_id = 99 where id % {share} = 0",
    "update messages set topic_id = 'x' where id % {share} = 0",
    "delete from messages",
    "drop table messages",
    "drop table topics",
    "update schema set schema_version = 99",
    ENDLESS,
)
FILE = "run_0.mcap"


@cache
def good_db3() -> bytes:
    """The run of `recordings.py` as a .db3 file."""
    with tempfile.TemporaryDirectory() as temporary:
        recorded = Path(temporary) / "run.mcap"
        recorded.write_bytes(good_recording())
        path = Path(temporary) / "run.db3"
        database = sqlite3.connect(path)
        database.executescript(TABLES)
        topics: dict[str, int] = {}
        for schema, channel, message in stored(recorded, None):
            if channel.topic not in topics:
                number = topics[channel.topic] = len(topics) + 1
                database.execute(
                    "insert into topics values(?, ?, ?, 'cdr', '', '')", (number, channel.topic, schema.name)
                )
                told = (number, schema.name, schema.data.decode())
                database.execute("insert into message_definitions values(?, ?, 'ros2msg', ?, '')", told)
            row = (topics[channel.topic], message.log_time, message.data)
            database.execute("insert into messages(topic_id, timestamp, data) values(?, ?, ?)", row)
        database.commit()
        database.close()
        return path.read_bytes()


def odd_db3(rng: np.random.Generator) -> bytes:
    """A sound database that holds what no bag does."""
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "run.db3"
        path.write_bytes(good_db3())
        database = sqlite3.connect(path)
        for change in rng.choice(len(CHANGES), int(rng.integers(1, 3)), replace=False):
            values = {"topic": int(rng.integers(1, 9)), "share": int(rng.integers(1, 60))}
            try:
                database.executescript(CHANGES[change].format(**values))
            except sqlite3.Error:  # two changes need not go together
                continue
        database.commit()
        database.close()
        return path.read_bytes()


def good_metadata() -> dict:
    """What a bag's metadata.yaml says of FILE."""
    span = {"duration": {"nanoseconds": 4 * 10**9}, "starting_time": {"nanoseconds_since_epoch": 17 * 10**17}}
    topic = {"name": "/slender/gravity", "type": "geometry_msgs/msg/Vector3Stamped", "serialization_format": "cdr"}
    topic |= {"offered_qos_profiles": "- history: 1\n  depth: 1\n"}
    told = {"version": 5, "storage_identifier": "mcap", **span, "message_count": 8}
    told |= {"topics_with_message_count": [{"topic_metadata": topic, "message_count": 8}]}
    told |= {"compression_format": "", "compression_mode": "", "relative_file_paths": [FILE]}
    return {"rosbag2_bagfile_information": told | {"files": [{"path": FILE, **span, "message_count": 8}]}}


def odd_metadata(rng: np.random.Generator) -> str:
    """A metadata.yaml with something else in one place."""
    content = good_metadata()
    told = content["rosbag2_bagfile_information"]
    key = str(rng.choice(["relative_file_paths", "compression_mode", "version", "files", "storage_identifier"]))
    values = ["", None, 5, [], {}, [5], [""], [".."], ["../../etc/passwd"], ["/dev/zero"], [FILE, FILE], ["x"] * 9000]
    told[key] = values[rng.integers(len(values))]
    if rng.random() < 0.2:
        del told[key]
    text = yaml.safe_dump(content)
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{i + 1}: &a{i + 1} [*a{i}, *a{i}]\n" for i in range(40))
    return (text, text, text, bomb + text, "[" * 5000 + text, text + "x: " + "[]," * 200_000)[rng.integers(6)]

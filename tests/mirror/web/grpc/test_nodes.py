"""NetworkService.getNodes: the nodes of the newest address book."""

from collections.abc import Callable

import pytest

from mirror.core.values.hapi import messages as hapi
from tests.build import START, insert, time_range
from tests.grpc_client import Client

OK = ("OK", "")
STAKE = {"epoch_day": 1, "reward_rate": 0, "stake_rewarded": 0, "staking_period": 0, "max_stake": 0}


def book(at: int, *node_ids: int, file_id: int = 102) -> None:
    insert("address_book", start_consensus_timestamp=at, file_id=file_id, node_count=0, file_data=b"")
    for node_id in node_ids:
        insert("address_book_entry", consensus_timestamp=at, node_id=node_id, node_account_id=node_id + 3)


def endpoint(at: int, node_id: int, ip: str, port: int, domain: str = "") -> None:
    insert(
        "address_book_service_endpoint",
        **{"consensus_timestamp": at, "node_id": node_id, "ip_address_v4": ip, "port": port},
        domain_name=domain,
    )


def test_nodes_have_their_last_account_and_stake(client: Client) -> None:
    book(START - 1, 1)
    book(START, 5)
    insert(
        "address_book_entry",
        **{"consensus_timestamp": START, "node_id": 2, "node_account_id": 5, "memo": "Ärger"},
        **{"public_key": "abcd", "node_cert_hash": b"ab" * 48, "description": "second", "stake": 9},
    )
    endpoint(START, 2, "127.0.0.1", 50211)
    endpoint(START, 2, "", -1, "node.example.org")
    insert("node", node_id=2, account_id=1 << 38 | 77, timestamp_range=time_range(START), deleted=True)
    for at, stake in ((START, 4), (START + 1, 8)):
        insert(
            "node_stake",
            **STAKE | {"consensus_timestamp": at, "node_id": 2, "stake": stake},
            min_stake=0,
            stake_not_rewarded=0,
        )

    stream = client.nodes()

    assert stream.ended() == OK
    account = hapi.AccountID(realmNum=1, accountNum=77)
    assert stream.messages == [
        hapi.NodeAddress(
            nodeId=2,
            memo="Ärger".encode(),
            RSA_PubKey="abcd",
            nodeAccountId=account,
            nodeCertHash=b"ab" * 48,
            description="second",
            stake=8,
            serviceEndpoint=[
                hapi.ServiceEndpoint(port=-1, domain_name="node.example.org"),
                hapi.ServiceEndpoint(ipAddressV4=b"\x7f\0\0\1", port=50211),
            ],
        ),
        hapi.NodeAddress(nodeId=5, nodeAccountId=hapi.AccountID(accountNum=8)),
    ]


@pytest.mark.parametrize(("limit", "count"), [(0, 5), (3, 3), (9, 5)])
def test_nodes_come_page_by_page_up_to_the_limit(
    settings_of: Callable[..., None], client: Client, limit: int, count: int
) -> None:
    settings_of({"grpc.addressbook.pageSize": 2, "grpc.addressbook.pageDelay": 0.01})
    book(START, *range(5), file_id=101)
    stream = client.nodes(101, limit=limit)
    assert stream.ended() == OK
    assert [node.nodeId for node in stream.messages] == list(range(count))


def test_a_book_without_nodes_is_an_empty_stream(client: Client) -> None:
    book(START)
    assert client.nodes().ended() == OK


def test_without_a_book_there_is_no_file(client: Client) -> None:
    assert client.nodes().ended() == ("NOT_FOUND", "0.0.102 does not exist")


def test_a_wrong_request_is_refused(client: Client) -> None:
    assert client.nodes(100).ended() == ("INVALID_ARGUMENT", "Not a valid address book file")

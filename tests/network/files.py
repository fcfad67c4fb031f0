"""Parts of system files for reader tests."""

from mirror.core.values.hapi.messages import CurrentAndNextFeeSchedule, ExchangeRateSet
from tests.build import START, insert

CREATE, UPDATE, APPEND = 17, 19, 16

UNREADABLE = bytes.fromhex("0a7f0102")


def part(file_id: int, content: bytes | None, *, at: int = START, type: int = CREATE) -> None:
    insert("file_data", entity_id=file_id, file_data=content, consensus_timestamp=at, transaction_type=type)


def rates(cents: int, hbars: int = 1, expires: int = 1_700_003_600) -> bytes:
    """Return an exchange rate set: this rate now, and one cent more in the next hour."""
    rate_set = ExchangeRateSet()
    for rate, more in ((rate_set.currentRate, 0), (rate_set.nextRate, 1)):
        rate.centEquiv, rate.hbarEquiv = cents + more, hbars
        rate.expirationTime.seconds = expires + more * 3600
    return bytes(rate_set.SerializeToString())


def fee_schedule(*gas: tuple[int, int | None], expires: int = 1_700_003_600) -> bytes:
    """Return a fee schedule of functionality and price of gas; None leaves out the part with the price.

    The next schedule asks nearly nothing for a call.
    """
    schedules = CurrentAndNextFeeSchedule()
    schedules.currentFeeSchedule.expiryTime.seconds = expires
    for functionality, price in gas:
        each = schedules.currentFeeSchedule.transactionFeeSchedule.add(hederaFunctionality=functionality)
        fees = each.fees.add()
        fees.nodedata.gas = 7
        if price is not None:
            fees.servicedata.gas = price
        each.fees.add().servicedata.gas = 1_000_000_000
    nothing = schedules.nextFeeSchedule.transactionFeeSchedule.add(hederaFunctionality=6)
    nothing.fees.add().servicedata.gas = 1
    return bytes(schedules.SerializeToString())

"""Messages whose parts are known to be right: the library's checks take longer than a short frame."""

from eth.vm.message import Message
from eth_typing import Address


class UncheckedMessage(Message):
    """A message to an account; the code of another one may answer it.

    `data`, which is set later, may be a view of the caller's memory, which doesn't change before the message
    is answered; `data_as_bytes` copies it once. The other attributes have the library's defaults.
    """

    # Attributes, where the library has properties: a frame reads them again and again.
    __slots__ = ("code_address", "is_create", "is_delegation", "storage_address")

    code_address: Address
    storage_address: Address
    is_create: bool
    is_delegation: bool

    def __init__(
        self, gas: int, to: Address, sender: Address, value: int, code: bytes, code_address: Address
    ) -> None:
        self.gas, self.value, self.data, self.code = gas, value, b"", code
        self.to = self.storage_address = to
        self.sender, self.code_address = sender, code_address
        self.depth = self.refund = 0
        self.should_transfer_value, self.is_static = True, False
        self.is_create = self.is_delegation = False

    @property
    def data_as_bytes(self) -> bytes:
        if not isinstance(self.data, bytes):
            self.data = bytes(self.data)
        return self.data

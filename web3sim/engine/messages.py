"""Messages whose parts are known to be right: the library's checks take longer than a short frame."""

from eth.typing import BytesOrView
from eth.vm.message import Message
from eth_typing import Address


class KnownMessage(Message):
    """A message to an account; the code of another one may answer it.

    `data` may be a view of the caller's memory, which doesn't change before the message is answered. It's
    copied when somebody asks for bytes, once.
    """

    # In place of properties of the library's message: a frame looks at them again and again.
    __slots__ = ("code_address", "is_create", "storage_address")

    code_address: Address
    storage_address: Address
    is_create: bool

    def __init__(
        self,
        gas: int,
        to: Address,
        sender: Address,
        value: int,
        data: BytesOrView,
        code: bytes,
        code_address: Address,
        *,
        depth: int = 0,
        transfers: bool = True,
        static: bool,
    ) -> None:
        self.gas, self.value, self.data, self.code = gas, value, data, code
        self.to = self.storage_address = to
        self.sender, self.code_address = sender, code_address
        self.depth, self.refund = depth, 0
        self.should_transfer_value, self.is_static = transfers, static
        self.is_create = self._is_delegation = False

    @property
    def data_as_bytes(self) -> bytes:
        if not isinstance(self.data, bytes):
            self.data = bytes(self.data)
        return self.data

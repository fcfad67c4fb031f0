from mirror.core.rest.cache.circuit_breaker import Circuit


def test_one_request_at_a_time_tries_a_failed_service():
    now = 1000.0
    circuit = Circuit("service", pause=5, clock=lambda: now)
    assert circuit.closed()
    circuit.record_failure(OSError())
    assert not circuit.closed()
    now += 5
    assert [circuit.closed() for _ in range(3)] == [True, False, False]
    circuit.record_success()
    assert circuit.closed()

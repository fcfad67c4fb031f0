"""The gRPC API: its port, what it allows, and its TLS."""

from mirror.core.config.setting import Setting

SETTINGS = (
    Setting("grpc.port", 0, "Port of the gRPC API, on the address of web.host: messages of topics, and the "
            "address book. 0 is none; `up --sdk-ports` makes it 5600.", low=0, high=65535),
    Setting("grpc.checkTopicExists", True,
            "Refuse subscriptions of topics that do not exist, instead of waiting for their messages."),
    Setting("grpc.endTimeInterval", "500ms", "How long after its end time a subscription waits for messages "
            "that are loaded late. A message of the topic that is not before the end time ends it at once.",
            unit="duration", low=0, high=3600),
    Setting("grpc.entityCacheSize", 50_000, "Topics that the gRPC server knows to exist, for a day.", low=1,
            high=10_000_000),
    Setting("grpc.maxSubscriptions", 1000, "Subscriptions of topics at a time; further ones are refused "
            "(RESOURCE_EXHAUSTED), unless a client has read nothing for ten seconds: its subscription ends.",
            low=1, high=100_000),
    Setting("grpc.maxCallsPerClient", 0, "Calls of a client at a time, subscriptions included; further ones "
            "are refused (RESOURCE_EXHAUSTED). The addresses of a /64 network of IPv6 are one client. 0 is a "
            "fifth of grpc.maxSubscriptions.", low=0, high=100_000),
    Setting("grpc.maxConnections", 2000, "Connections at a time; further ones are closed. A client may have "
            "a fifth of them, a proxy of web.trustedProxies all.", low=10, high=100_000),
    Setting("grpc.sendTimeout", "5m", "How long a message of a topic waits for a client that reads nothing; "
            "then its subscription ends (UNAVAILABLE).", unit="duration", low=1, high=86_400),
    Setting("grpc.netty.maxConcurrentCallsPerConnection", 5,
            "Calls at a time of a connection; further ones wait for one of them to end.", low=1, high=10_000),
    Setting("grpc.addressbook.pageSize", 10, "Nodes of the address book that are sent at a time.", low=1,
            high=10_000),
    Setting("grpc.addressbook.pageDelay", "250ms", "Pause between them.", unit="duration", low=0, high=60),
    Setting("grpc.rateLimit.requestsPerSecond", 0,
            "Calls of a client to the gRPC API per second; further ones are refused (RESOURCE_EXHAUSTED). "
            "The addresses of a /64 network of IPv6 are one client. 0 is no limit.", low=0, high=1_000_000),
    Setting("grpc.rateLimit.burst", 0, "Calls that a client may make at once, if it has made none for a "
            "while; 0 is those of a second.", low=0, high=1_000_000),
    Setting("grpc.rateLimit.exempt", (), "Addresses and networks of clients without such a limit, "
            "and without those of a client's calls and connections."),
    Setting("grpc.tls.certificate", "", "File of the certificate chain (PEM) with which the gRPC API speaks "
            "TLS; read again when it has changed. Without it, a proxy in front may do so."),
    Setting("grpc.tls.key", "", "File of its private key (PEM)."),
)  # fmt: skip

from django.conf import settings
from django.urls import URLPattern, URLResolver, include, path, re_path
from django.urls.resolvers import RoutePattern
from django.views.generic import RedirectView

from contracts.api import actions, contract_state, contracts, hooks, logs, results
from ledger import loaded_ranges
from ledger.api import (
    accounts,
    allowances,
    balances,
    blocks,
    rewards,
    schedules,
    state_proofs,
    topic_messages,
    topics,
    transactions,
)
from ledger.api.account_names import SPRING_ACCOUNT
from mirror.core.rest.routes import resolvers, route, spring_unknown_route, unknown_route, views
from mirror.core.rest.schema import pages
from mirror.core.rest.views import LOADED_BLOCKS
from mirror.web.monitoring import health, metrics
from mirror.web.pages import answer, assets
from mirror.web.pages.api import api, swagger
from mirror.web.pages.documentation import documentation, search
from mirror.web.pages.home import home
from network.api import exchange_rate, fees, nodes, registered_nodes, stake, supply
from tokens.api import account_nfts, airdrops, nfts, relationships, tokens
from tokens.api import allowances as token_allowances
from tokens.api import balances as token_balances
from web3sim.api import call, opcodes

LOADED_BLOCKS[:] = [loaded_ranges.header]

ROUTES = [
    route("accounts", accounts.Accounts),
    route("accounts/{id}/airdrops/outstanding", airdrops.OutstandingAirdrops, id=SPRING_ACCOUNT),
    route("accounts/{id}/airdrops/pending", airdrops.PendingAirdrops, id=SPRING_ACCOUNT),
    route("accounts/{id}/allowances/nfts", token_allowances.NftAllowances, id=SPRING_ACCOUNT),
    route("accounts/{idOrAliasOrEvmAddress}", accounts.AccountOfIdOrAlias),
    route("accounts/{idOrAliasOrEvmAddress}/allowances/crypto", allowances.CryptoAllowances),
    route("accounts/{idOrAliasOrEvmAddress}/allowances/tokens", token_allowances.TokenAllowances),
    route("accounts/{idOrAliasOrEvmAddress}/nfts", account_nfts.AccountNfts),
    route("accounts/{idOrAliasOrEvmAddress}/rewards", rewards.Rewards),
    route("accounts/{idOrAliasOrEvmAddress}/tokens", relationships.Relationships),
    route("accounts/{ownerId}/hooks", hooks.Hooks, owner_id=SPRING_ACCOUNT),
    route("accounts/{ownerId}/hooks/{hookId}/storage", hooks.HookStorage, owner_id=SPRING_ACCOUNT),
    route("balances", balances.Balances),
    route("blocks", blocks.Blocks),
    route("blocks/{hashOrNumber}", blocks.Block),
    route("contracts", contracts.Contracts),
    # The first matching line wins.
    route("contracts/call", call.ContractCall),
    route("contracts/logs", logs.Logs),
    route("contracts/results", results.Results),
    route("contracts/results/logs", logs.Logs),
    route("contracts/{contractIdOrAddress}", contracts.ContractOfIdOrAddress),
    route("contracts/{contractIdOrAddress}/results", results.ResultsOfContract),
    route("contracts/{contractIdOrAddress}/state", contract_state.State),
    route("contracts/{contractIdOrAddress}/results/logs", logs.LogsOfContract),
    route("contracts/results/{transactionIdOrHash}", results.ResultOfTransaction),
    route("contracts/results/{transactionIdOrHash}/actions", actions.Actions),
    route("contracts/results/{transactionIdOrHash}/opcodes", opcodes.Opcodes),
    route("contracts/{contractIdOrAddress}/results/{timestamp}", results.ResultAt),
    route("network/exchangerate", exchange_rate.ExchangeRate),
    route("network/fees", fees.Fees),
    route("network/nodes", nodes.Nodes),
    route("network/registered-nodes", registered_nodes.RegisteredNodes),
    route("network/stake", stake.Stake),
    route("network/supply", supply.Supply),
    route("schedule/{scheduleId}", schedules.Schedule),
    route("schedules", schedules.Schedules),
    route("schedules/{scheduleId}", schedules.Schedule),
    route("tokens", tokens.Tokens),
    route("tokens/{tokenId}", tokens.Token),
    route("tokens/{tokenId}/balances", token_balances.TokenBalances),
    route("tokens/{tokenId}/nfts", nfts.Nfts),
    route("tokens/{tokenId}/nfts/{serialNumber}", nfts.Nft),
    route("tokens/{tokenId}/nfts/{serialNumber}/transactions", nfts.NftTransactions),
    route("topics/messages/{timestamp}", topic_messages.MessageAt),
    route("topics/{id}", topics.Topic, id=r"(?:[0-9]+\.){0,2}[0-9]+"),
    route("topics/{topicId}/messages", topic_messages.Messages),
    route("topics/{topicId}/messages/{sequenceNumber}", topic_messages.MessageOfNumber),
    route("transactions", transactions.Transactions),
    route("transactions/{transactionId}/stateproof", state_proofs.StateProof),
    # A hash in base64 may have slashes.
    route(
        "transactions/{transactionIdOrHash}",
        transactions.TransactionsOfIdOrHash,
        transaction_id_or_hash="[^/]+|[A-Za-z0-9+/]{64}",
    ),
]

#: Documented path, below /api/v1/ -> view.
VIEWS = views(ROUTES)

urlpatterns: list[URLPattern | URLResolver] = [
    *resolvers(ROUTES),
    *pages.routes(),
    path("", home),
    path("docs", RedirectView.as_view(url="/docs/", permanent=True)),
    path("docs/", documentation),
    path("docs/search", search),
    path("docs/<slug:name>", documentation),
    path("docs/architecture.svg", assets.file, {"path": "docs/architecture.svg"}),
    # Links as they are written in the pages.
    re_path(r"^docs/(?P<name>[\w-]+)(?:\.md|/)\Z", RedirectView.as_view(url="/docs/%(name)s")),
    path("api/v1/docs", RedirectView.as_view(url="/api/v1/docs/", permanent=True)),
    path("api/v1/docs/", api),
    path("api/v1/docs/swagger/", swagger),
    # Crawlers would follow the links of lists for ever.
    path("robots.txt", assets.file, {"path": "static/mirror/robots.txt"}),
    path("favicon.ico", assets.file, {"path": "static/mirror/icon.svg"}),
    path("favicon.svg", assets.file, {"path": "static/mirror/icon.svg"}),
    path("admin", RedirectView.as_view(pattern_name="admin:index")),
    # Imported with the first request for a page of it.
    URLResolver(RoutePattern("admin/"), "mirror.node.admin.urls", app_name="admin", namespace="admin"),
    *(path(f"static/{name}/<path:path>", assets.asset, {"folder": name}) for name in assets.FOLDERS),
    path("health/liveness", health.liveness),
    path("health/readiness", health.readiness),
    path("health/lag", health.lag),
    path("metrics", metrics.metrics),
    *([path("__debug__/", include("debug_toolbar.urls"))] if settings.HAS_TOOLBAR else []),
    spring_unknown_route("network/"),
    spring_unknown_route(f"accounts/{SPRING_ACCOUNT}/(?:airdrops|allowances/nfts|hooks)"),
    re_path(r"^(?!api/)", answer.not_found),
    unknown_route(),
]

handler400 = "mirror.core.rest.answers.errors.bad_request"
handler404 = "mirror.web.pages.answer.not_found"
handler500 = "mirror.core.rest.answers.errors.server_error"

from django.apps import AppConfig


class Web3SimConfig(AppConfig):
    name = "web3sim"
    verbose_name = "Contract calls"

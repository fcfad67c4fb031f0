# A whole node: `docker run --init -p 8000:8000 -v node:/data IMAGE`. See mirror/docs/deploy.md. The gRPC API is at port
# 5600 with `-p 5600:5600 -e SVC_MIRROR_GRPC_PORT=5600`.

# To renew: `docker buildx imagetools inspect python:3.13-slim-trixie` prints the digest, which covers all platforms.
ARG BASE=python:3.13-slim-trixie@sha256:70729b46c69b4f1e97c4822c1af3df53a1476cf5ddc6c087c0c10bc3a5678c2f

FROM ${BASE} AS packages
WORKDIR /app
RUN python -m venv .venv
COPY requirements.txt .
RUN .venv/bin/python -m pip --disable-pip-version-check install --no-cache-dir --require-hashes --only-binary :all: \
    --requirement requirements.txt
COPY . .
# The user that runs the node may not write here.
RUN .venv/bin/python -m compileall -q contracts ledger mirror network tokens web3sim .venv/lib

FROM ${BASE}
# PostgreSQL needs a user with a name, and does not run as root.
RUN useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin mirror \
    && install --directory --owner mirror --group mirror --mode 0700 /data
COPY --from=packages /app /app
WORKDIR /app
ENV PATH=/app/.venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    SVC_MIRROR_DATA=/data \
    PROMETHEUS_MULTIPROC_DIR=/dev/shm/ledger-mirror \
    SVC_MIRROR_WEB_HOST=0.0.0.0 \
    PORT=8000
USER mirror
VOLUME /data
EXPOSE 8000 5600
STOPSIGNAL SIGTERM
# The first start makes a database, and of the demo network a history.
HEALTHCHECK --interval=10s --timeout=5s --start-period=3m --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen(f'http://127.0.0.1:{os.environ[\"PORT\"]}/health/liveness', timeout=4)"]
CMD ["python", "manage.py", "up"]

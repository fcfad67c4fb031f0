# A whole node: `docker run --init -p 8000:8000 -v node:/data IMAGE`. See mirror/docs/deploy.md. The gRPC API is at port
# 5600 with `-p 5600:5600 -e SVC_MIRROR_GRPC_PORT=5600`.
ARG PYTHON=3.11

FROM python:${PYTHON}-slim-bookworm AS packages
WORKDIR /app
RUN python -m venv .venv
COPY requirements.txt .
RUN .venv/bin/python -m pip --disable-pip-version-check install --no-cache-dir --requirement requirements.txt
COPY . .
# The user that runs the node may not write here.
RUN .venv/bin/python -m compileall -q contracts ledger mirror network tokens web3sim .venv/lib

FROM python:${PYTHON}-slim-bookworm
# PostgreSQL needs a user with a name, and does not run as root.
RUN useradd --system --uid 10001 --home-dir /data --shell /usr/sbin/nologin mirror \
    && install --directory --owner mirror --group mirror --mode 0700 /data
COPY --from=packages /app /app
WORKDIR /app
ENV PATH=/app/.venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    SVC_MIRROR_DATA=/data \
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

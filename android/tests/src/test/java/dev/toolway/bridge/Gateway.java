package dev.toolway.bridge;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.json.JSONObject;

/** The real gateway: a process with its own data folder on a free port. */
final class Gateway implements AutoCloseable {
    private final Path folder;
    private final Programs.Running program;
    private final String url;

    /** Starts a gateway with the text of its settings file and models file. */
    Gateway(String settings, String models) {
        try {
            folder = Files.createTempDirectory("gateway");
            Path data = Files.createDirectory(folder.resolve("data"));
            Files.writeString(data.resolve("toolway.toml"), settings);
            if (!models.isEmpty()) {
                Files.writeString(data.resolve("models.toml"), models);
            }
            program = new Programs.Running(folder.resolve("stderr"), List.of(
                Programs.built("toolway.bin", "toolway").toString(), "--json", "--data-dir", data.toString(), "serve",
                "--listen", "127.0.0.1:0", "--no-local-device"));
            url = ready();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private String ready() {
        while (true) {
            JSONObject event = Json.parse(program.line());
            if ("ready".equals(event.optString("event"))) {
                return event.optString("url").replaceAll("/$", "");
            }
        }
    }

    String url() {
        return url;
    }

    /** Returns the REST interface with the owner's token. */
    Rest owner() {
        return new Rest(url, ownerToken());
    }

    String ownerToken() {
        try {
            return Files.readString(folder.resolve("data/owner.token")).trim();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Pairs a device and returns its token. */
    String pairDevice() {
        String code = owner().post("/api/pair", Json.of("role", "device")).optString("code");
        HttpRequest request = HttpRequest.newBuilder(URI.create(url + "/pair")).header("X-Pairing-Code", code)
            .header("Content-Type", "application/json").POST(HttpRequest.BodyPublishers.ofString("{}")).build();
        try {
            HttpResponse<String> response =
                HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
            return Json.parse(response.body()).optString("token");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    /** Returns the sorted names of a device's tools. */
    List<String> toolsOf(String source) {
        List<String> names = new ArrayList<>();
        for (JSONObject tool : Json.rows(owner().get("/api/tools"), "tools")) {
            if (tool.optString("name").startsWith(source + "__")) {
                names.add(tool.optString("name"));
            }
        }
        names.sort(null);
        return names;
    }

    @Override
    public void close() {
        program.close();
        try (Stream<Path> files = Files.walk(folder)) {
            files.sorted((a, b) -> b.compareTo(a)).forEach(file -> file.toFile().delete());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}

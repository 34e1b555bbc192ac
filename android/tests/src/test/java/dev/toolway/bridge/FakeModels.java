package dev.toolway.bridge;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/** The fake model servers: a process that answers from a script. */
final class FakeModels implements AutoCloseable {
    private final Programs.Running program;
    private final JSONObject ready;

    FakeModels() {
        try {
            program = new Programs.Running(Files.createTempFile("models", ".stderr"),
                List.of(Programs.built("toolway.fakeModels", "fake-models").toString()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        ready = Json.parse(program.line());
    }

    /** Returns a `models.toml` with one of them. */
    String toml() {
        try {
            Path key = Files.createTempFile("model", ".key",
                PosixFilePermissions.asFileAttribute(
                    PosixFilePermissions.fromString("rw-------")));
            Files.writeString(key, ready.optString("key"));
            return "[[model]]\nname = \"fake\"\nkind = \"openai\"\nmodel = \"fake-model\"\nbase_url = \""
                + ready.optJSONObject("base_urls").optString("openai") + "\"\nkey = { file = \"" + key + "\" }\n";
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Scripts a call of this tool, and this text as the next answer. */
    void callsThenSays(String tool, JSONObject args, String text) {
        JSONObject call = Json.of("steps", Json.array(Json.of("tool_call", Json.of("name", tool, "arguments", args))));
        JSONObject say = Json.of("steps", Json.array(Json.of("text", text)));
        ask("PUT", "/control/script", Json.of("lines", Json.array(line(call), line(say))).toString());
    }

    /** Returns the requests to models so far. */
    JSONArray requests() {
        try {
            return new JSONArray(ask("GET", "/control/requests", null));
        } catch (JSONException e) {
            throw new AssertionError(e);
        }
    }

    private static JSONObject line(JSONObject answer) {
        return Json.of("when", new JSONObject(), "times", 1, "answer", answer);
    }

    private String ask(String method, String path, String body) {
        HttpRequest.BodyPublisher publisher = body == null ? HttpRequest.BodyPublishers.noBody()
            : HttpRequest.BodyPublishers.ofString(body);
        HttpRequest request = HttpRequest.newBuilder(URI.create(ready.optString("url") + path))
            .header("Content-Type", "application/json").method(method, publisher).build();
        try {
            HttpResponse<String> response =
                HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
            if (response.statusCode() != 200) {
                throw new AssertionError(path + ": " + response.body());
            }
            return response.body();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Override
    public void close() {
        program.close();
    }
}

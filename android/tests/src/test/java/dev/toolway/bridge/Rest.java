package dev.toolway.bridge;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.json.JSONException;
import org.json.JSONObject;

/** A gateway's REST interface with one token. */
final class Rest {
    private static final HttpClient CLIENT = HttpClient.newHttpClient();
    private static final Duration TIMEOUT = Duration.ofSeconds(150);

    private final String url;
    private final String token;

    Rest(String url, String token) {
        this.url = url;
        this.token = token;
    }

    JSONObject get(String path) {
        return ask("GET", path, null);
    }

    JSONObject post(String path, JSONObject body) {
        return ask("POST", path, body);
    }

    /** Calls a tool and returns its outcome, also for an error. */
    JSONObject call(String tool, JSONObject args) {
        return called(tool, args, null).join();
    }

    /** Starts a call of a tool, with an optional timeout. */
    CompletableFuture<JSONObject> called(String tool, JSONObject args, Long timeoutMillis) {
        JSONObject body = Json.of("args", args);
        if (timeoutMillis != null) {
            Json.put(body, "timeout_ms", timeoutMillis);
        }
        return CLIENT.sendAsync(request("POST", "/api/tools/" + tool + "/call", body),
            HttpResponse.BodyHandlers.ofString()).thenApply(Rest::read);
    }

    private JSONObject ask(String method, String path, JSONObject body) {
        try {
            return read(CLIENT.send(request(method, path, body), HttpResponse.BodyHandlers.ofString()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private HttpRequest request(String method, String path, JSONObject body) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + path)).timeout(TIMEOUT);
        if (token != null) {
            request.header("Authorization", "Bearer " + token);
        }
        if (body == null) {
            return request.method(method, HttpRequest.BodyPublishers.noBody()).build();
        }
        request.header("Content-Type", "application/json");
        return request.method(method, HttpRequest.BodyPublishers.ofString(body.toString())).build();
    }

    private static JSONObject read(HttpResponse<String> response) {
        if (response.statusCode() / 100 != 2) {
            throw new AssertionError(response.uri() + ": " + response.statusCode() + " " + response.body());
        }
        try {
            return response.body().isEmpty() ? new JSONObject() : new JSONObject(response.body());
        } catch (JSONException e) {
            throw new AssertionError(response.body(), e);
        }
    }
}

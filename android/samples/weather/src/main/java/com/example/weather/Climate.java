package com.example.weather;

import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.json.JSONArray;
import org.json.JSONException;
import org.json.JSONObject;

/**
 * Typical weather of places, and a forecast generated from it: the same place and day give the
 * same forecast, without a network. Every answer says that it is a sample.
 */
final class Climate {
    /** Rounded monthly means of the daily high in degrees Celsius, and the share of days with rain. */
    private static final List<Climate> PLACES = Arrays.asList(
            new Climate("Berlin", 52.5, 13.4, 8, "3 5 9 15 20 23 25 25 20 14 8 4", "54 50 48 42 42 45 45 43 41 46 52 56"),
            new Climate("Cairo", 30.0, 31.2, 11, "19 21 24 28 32 35 35 34 33 30 25 20", "10 8 6 3 1 0 0 0 0 2 4 8"),
            new Climate("London", 51.5, -0.1, 7, "8 9 12 15 18 21 24 23 20 16 11 9", "50 46 44 42 41 40 38 41 40 47 50 51"),
            new Climate("Nairobi", -1.3, 36.8, 12, "26 27 27 25 24 23 22 23 26 26 24 25", "18 16 30 50 38 15 12 14 14 28 52 32"),
            new Climate("New York", 40.7, -74.0, 8, "4 6 10 16 22 27 30 29 25 18 13 7", "35 34 36 37 38 37 35 33 30 28 30 35"),
            new Climate("Quito", -0.2, -78.5, 9, "19 19 19 19 19 19 20 20 20 20 19 19", "55 62 68 68 58 35 28 28 45 60 55 52"),
            new Climate("Singapore", 1.4, 103.8, 6, "31 32 32 32 32 32 31 31 31 32 31 30", "47 38 46 50 47 43 44 46 45 50 62 60"),
            new Climate("Sydney", -33.9, 151.2, 8, "26 26 25 23 20 18 17 19 21 23 24 26", "42 44 45 40 38 40 34 32 34 37 40 40"),
            new Climate("Tokyo", 35.7, 139.7, 8, "10 11 14 19 23 26 30 31 27 22 17 12", "17 22 33 35 35 43 40 32 40 35 26 18"),
            new Climate("Ulm", 48.4, 10.0, 9, "3 5 9 14 19 22 24 24 19 13 7 4", "50 47 47 46 50 52 48 46 43 45 49 52"));

    private final String name;
    private final double latitude;
    private final double longitude;
    /** Degrees between a day's low and high. */
    private final int span;
    private final int[] highs;
    private final int[] rain;

    private Climate(String name, double latitude, double longitude, int span, String highs, String rain) {
        this.name = name;
        this.latitude = latitude;
        this.longitude = longitude;
        this.span = span;
        this.highs = months(highs);
        this.rain = months(rain);
    }

    private static int[] months(String numbers) {
        return Arrays.stream(numbers.split(" ")).mapToInt(Integer::parseInt).toArray();
    }

    static String names() {
        List<String> names = new ArrayList<>();
        for (Climate place : PLACES) {
            names.add(place.name);
        }
        return String.join(", ", names);
    }

    /** Returns a city by its name, or the nearest one to coordinates; null if there is none. */
    static Climate at(String location) {
        String wanted = location.trim();
        if (wanted.matches("-?\\d{1,2}(\\.\\d+)?\\s*,\\s*-?\\d{1,3}(\\.\\d+)?")) {
            String[] parts = wanted.split(",");
            return nearest(Double.parseDouble(parts[0].trim()), Double.parseDouble(parts[1].trim()));
        }
        for (Climate place : PLACES) {
            if (place.name.equalsIgnoreCase(wanted)) {
                return place;
            }
        }
        return null;
    }

    private static Climate nearest(double latitude, double longitude) {
        Climate nearest = null;
        double greatest = -2;
        for (Climate place : PLACES) {
            // The cosine of the angle between two places is greatest for the nearest.
            double cosine = Math.sin(Math.toRadians(latitude)) * Math.sin(Math.toRadians(place.latitude))
                    + Math.cos(Math.toRadians(latitude)) * Math.cos(Math.toRadians(place.latitude))
                            * Math.cos(Math.toRadians(longitude - place.longitude));
            if (cosine > greatest) {
                greatest = cosine;
                nearest = place;
            }
        }
        return nearest;
    }

    JSONObject forecast(LocalDate first, int days) throws JSONException {
        JSONArray list = new JSONArray();
        for (int i = 0; i < days; i++) {
            list.put(day(first.plusDays(i)));
        }
        return new JSONObject().put("location", name).put("sample_data", true).put("days", list);
    }

    private JSONObject day(LocalDate date) throws JSONException {
        int month = date.getMonthValue() - 1;
        // A deterministic hash that spreads the days.
        int chance = Math.floorMod((name.hashCode() * 31 + (int) date.toEpochDay()) * 0x9E3779B1, 100);
        int high = highs[month] + chance % 7 - 3;
        boolean wet = chance < rain[month];
        String sky = wet ? "rain" : chance < rain[month] + 25 ? "clouds" : "sun";
        return new JSONObject()
                .put("date", date.toString())
                .put("high_c", high)
                .put("low_c", high - span)
                .put("rain_percent", rain[month])
                .put("sky", sky);
    }
}

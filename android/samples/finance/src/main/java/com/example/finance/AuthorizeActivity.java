package com.example.finance;

import android.app.Activity;
import android.content.pm.PackageManager;
import android.os.Bundle;
import android.view.View;
import android.widget.Button;
import android.widget.LinearLayout;
import android.widget.ScrollView;
import android.widget.TextView;
import android.widget.Toast;
import dev.toolway.provider.Grant;
import dev.toolway.provider.Grants;
import java.text.DateFormat;
import java.util.Date;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The app's only screen: apps that have asked for the user's data, and apps with access. */
public final class AuthorizeActivity extends Activity {
    private static final long ALLOWED_FOR_MS = TimeUnit.DAYS.toMillis(90);
    private static final int SPACE_DP = 16;
    private static final String INTRODUCTION = "These apps have asked for your holdings and transactions (sample"
            + " data). An allowance ends after 90 days.";

    private Grants grants;
    private LinearLayout list;

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        grants = new Grants(this);
        list = new LinearLayout(this);
        list.setOrientation(LinearLayout.VERTICAL);
        int space = Math.round(SPACE_DP * getResources().getDisplayMetrics().density);
        list.setPadding(space, space, space, space);
        ScrollView scroll = new ScrollView(this);
        scroll.setFitsSystemWindows(true);
        scroll.addView(list);
        setContentView(scroll);
    }

    @Override
    protected void onResume() {
        super.onResume();
        show();
    }

    private void show() {
        list.removeAllViews();
        list.addView(text(INTRODUCTION));
        List<Grant> asked = grants.list();
        if (asked.isEmpty()) {
            list.addView(text("\nNo app has asked yet."));
        }
        for (Grant grant : asked) {
            list.addView(text("\n" + label(grant.packageName()) + " (" + grant.packageName() + ") " + said(grant)));
            list.addView(buttons(grant));
        }
    }

    private String said(Grant grant) {
        switch (grant.state()) {
            case ALLOWED:
                return "may read until " + DateFormat.getDateInstance().format(new Date(grant.until()));
            case DENIED:
                return "may not read";
            default:
                return "has asked";
        }
    }

    private LinearLayout buttons(Grant grant) {
        String app = grant.packageName();
        LinearLayout row = new LinearLayout(this);
        if (grant.state() != Grant.State.ALLOWED) {
            row.addView(button("Allow", () -> allow(app)));
        }
        if (grant.state() != Grant.State.DENIED) {
            row.addView(button("Deny", () -> grants.deny(app)));
        }
        if (grant.state() != Grant.State.ASKED) {
            row.addView(button("Revoke", () -> grants.revoke(app)));
        }
        return row;
    }

    private void allow(String app) {
        if (grants.allow(app, System.currentTimeMillis() + ALLOWED_FOR_MS)) {
            setResult(RESULT_OK);
        } else {
            Toast.makeText(this, "Android does not say who made this app.", Toast.LENGTH_LONG).show();
        }
    }

    private Button button(String label, Runnable action) {
        Button button = new Button(this);
        button.setText(label);
        // Prevents tapjacking: no other app may draw over the buttons.
        button.setFilterTouchesWhenObscured(true);
        button.setOnClickListener((View pressed) -> {
            action.run();
            show();
        });
        return button;
    }

    private TextView text(String words) {
        TextView view = new TextView(this);
        view.setText(words);
        return view;
    }

    private String label(String app) {
        PackageManager manager = getPackageManager();
        try {
            return manager.getApplicationLabel(manager.getApplicationInfo(app, 0)).toString();
        } catch (PackageManager.NameNotFoundException hidden) {
            return app;
        }
    }
}

package dev.toolway.host;

import android.content.ActivityNotFoundException;
import android.content.ComponentName;
import android.content.Context;
import android.content.Intent;
import android.content.pm.ActivityInfo;
import android.content.pm.PackageManager;
import android.content.pm.ResolveInfo;

/** Opens screens of other apps. Only ever of the app that is named. */
final class Screens {
    private final Context context;

    Screens(Context context) {
        this.context = context;
    }

    /** Opens an app as its icon does. */
    boolean launch(String packageName) {
        Intent intent = context.getPackageManager().getLaunchIntentForPackage(packageName);
        return intent != null && open(intent);
    }

    /**
     * Opens the activity of this app that takes this action. The action is text that the provider chose: no other app
     * is opened by it, whatever it says, and nothing of it but the action counts.
     */
    boolean authorization(String packageName, String action) {
        Intent intent = new Intent(action).setPackage(packageName);
        ActivityInfo activity = find(intent, packageName);
        if (activity == null) {
            return false;
        }
        // By its class: the system starts an activity by its action only where its filter names a category too.
        return open(intent.setComponent(new ComponentName(packageName, activity.name)));
    }

    @SuppressWarnings("deprecation") // What replaces it is there from API 33 on.
    private ActivityInfo find(Intent intent, String packageName) {
        PackageManager packages = context.getPackageManager();
        for (ResolveInfo info : packages.queryIntentActivities(intent, 0)) {
            ActivityInfo activity = info.activityInfo;
            if (activity != null && activity.exported && packageName.equals(activity.packageName)) {
                return activity;
            }
        }
        return null;
    }

    private boolean open(Intent intent) {
        try {
            context.startActivity(intent.addFlags(Intent.FLAG_ACTIVITY_NEW_TASK));
            return true;
        } catch (ActivityNotFoundException | SecurityException e) {
            return false;
        }
    }
}

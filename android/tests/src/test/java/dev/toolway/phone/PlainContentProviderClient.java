package dev.toolway.phone;

import android.content.ContentProviderClient;
import org.robolectric.annotation.Implements;

/** Replaces Robolectric's shadow with nothing, so that the framework's client uses parcels. */
@Implements(ContentProviderClient.class)
public class PlainContentProviderClient {
}

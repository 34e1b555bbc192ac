package dev.toolway.provider;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertThrows;

import org.junit.Test;

public class DeclarationTest {
    private static Tool tool(String name) {
        return new Tool(name, "A tool", Schema.obj(), call -> ToolResult.text(""));
    }

    @Test
    public void malformedJsonIsRefused() {
        assertThrows(
                IllegalArgumentException.class, () -> new Declaration().tool(tool("a")).tool(tool("a")));
        assertThrows(
                IllegalArgumentException.class, () -> new Declaration().mcpTool("x", "a").mcpTools("x", "a"));
        Declaration dangling = new Declaration().tool(tool("a")).mcpTool("x", "b");
        IllegalArgumentException error = assertThrows(IllegalArgumentException.class, dangling::checked);
        assertEquals("x serves b, which is not a declared tool", error.getMessage());
    }

    @Test
    public void infoIsReturnedIfDeclared() {
        assertNull(new Declaration().tool(tool("a")).info());
        assertEquals(
                "{\"provider_name\":\"N\",\"description\":\"D\",\"scopes\":[{\"name\":\"s\",\"description\":\"S\"}]}",
                new Declaration().info("N", "D").scope("s", "S").info().toString());
    }
}

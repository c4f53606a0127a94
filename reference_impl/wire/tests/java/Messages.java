// Reads "class version hex" lines with Kafka's generated readers; answers with the bytes which its
// generated writers make of them, and the fields as its JSON converters name them.

import java.io.BufferedOutputStream;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

public class Messages {
    private static final HexFormat HEX = HexFormat.of();
    private static final Map<String, Method> CONVERTERS = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        PrintStream out = new PrintStream(
            new BufferedOutputStream(System.out), false, StandardCharsets.UTF_8);
        for (String line; (line = in.readLine()) != null; ) {
            String[] parts = line.split(" ", -1);
            out.println(answer(parts[0], Short.parseShort(parts[1]), HEX.parseHex(parts[2])));
        }
        out.flush();
    }

    private static String answer(String name, short version, byte[] bytes) {
        try {
            Class<?> type = Class.forName(name);
            Message message = (Message) type.getDeclaredConstructor().newInstance();
            ByteBuffer buffer = ByteBuffer.wrap(bytes);
            message.read(new ByteBufferAccessor(buffer), version);
            if (buffer.hasRemaining()) {
                return "left over: " + buffer.remaining();
            }
            ObjectSerializationCache cache = new ObjectSerializationCache();
            ByteBuffer written = ByteBuffer.allocate(message.size(cache, version));
            message.write(new ByteBufferAccessor(written), cache, version);
            return HEX.formatHex(written.array()) + "\t" + converter(type).invoke(null, message, version);
        } catch (Throwable error) {
            return "error: " + String.valueOf(error).replace('\n', ' ');
        }
    }

    private static Method converter(Class<?> type) throws Exception {
        Method known = CONVERTERS.get(type.getName());
        if (known == null) {
            known = Class.forName(type.getName() + "JsonConverter")
                .getMethod("write", type, short.class);
            CONVERTERS.put(type.getName(), known);
        }
        return known;
    }
}
